"""Landings and merges beside other libraries: rows of a Parquet file into tables on this disk, in turn.

    python -m benchmarks.lakes

`land` appends 10 million rows to a new table. `merge` merges 1 million changes, 80 % of them updates, 10 % deletes and
10 % new rows, of keys all over the table, into tables of 1 and 20 million rows. Each job is a process of its own; its
time is without imports and without the begin of Spark's session. The memory is of that process; for Spark, of the JVM.
All get the same Parquet files. The keys of the changes are unique: only this package would need no such care.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Final

import numpy as np
import psycopg2
import pyarrow as pa
from pyarrow import parquet
from tests.system.airflow.postgres import Postgres
from tests.system.servers import free_ports

RESULTS: Final = Path(__file__).parent / "results" / "lakes.md"
_ROOT: Final = Path(__file__).parent.parent
_SPARK: Final = _ROOT / "build" / "spark-4.1.4" / "bin" / "python"
_LANDED: Final = 10_000_000
_CHANGES: Final = 1_000_000
_SMALL: Final = 1_000_000
_LARGE: Final = 20_000_000
_PIECE: Final = 1_000_000
_NAMES: Final = {
    "ours-delta": "this package, Delta",
    "deltalake": "deltalake",
    "spark-delta": "Spark 4.1, Delta",
    "ours-iceberg": "this package, Iceberg",
    "pyiceberg": "pyiceberg",
    "spark-iceberg": "Spark 4.1, Iceberg",
    "ours-postgres": "this package, PostgreSQL",
    "by-hand-postgres": "psycopg2, PostgreSQL",
}
_DATABASE: Final = ("ours-postgres", "by-hand-postgres")
# As people run it: what is committed is on disk.
_SERVER: Final = {
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "shared_buffers": "1GB",
    "max_wal_size": "8GB",
}
_TYPES: Final = ("update", "delete", "insert")


def main() -> None:
    """Measure, and write the results."""
    options = _options()
    options.stopped = []
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(dir=options.folder))
        if set(_DATABASE) - set(options.without):
            server = stack.enter_context(Postgres(free_ports(1)[0], Path(folder) / "postgres.log", _SERVER))
            os.environ["BENCH_POSTGRES"] = server.url("").replace("+", "")
        parts = {"land": _land, "merge-small": _merge_small, "merge-large": _merge_large}
        text = "\n".join(parts[each](Path(folder), options) for each in options.only or parts)
    Path(options.out).write_text(f"# Landings and merges\n{text}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", help="land, merge-small or merge-large; by default all")
    parser.add_argument("--without", action="append", default=[], help="a contender that is left out")
    parser.add_argument("--share", type=float, default=1.0, help="a part of the rows and changes")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=int, default=900, help="seconds for one job")
    parser.add_argument("--folder", help="a folder for the tables, with 20 GB")
    parser.add_argument(
        "--spark", default=str(_SPARK), help="a Python with PySpark 4.1: make build/spark-4.1.4/.installed"
    )
    parser.add_argument("--out", default=str(RESULTS))
    return parser.parse_args()


def _land(folder: Path, options: argparse.Namespace) -> str:
    rows = int(_LANDED * options.share)
    return _table(f"{rows:,} rows into a new table", "land", [_rows(folder, rows)], options)


def _merge_small(folder: Path, options: argparse.Namespace) -> str:
    return _merge(folder, _SMALL, options)


def _merge_large(folder: Path, options: argparse.Namespace) -> str:
    return _merge(folder, _LARGE, options)


def _merge(folder: Path, size: int, options: argparse.Namespace) -> str:
    rows, changes = int(size * options.share), int(_CHANGES * options.share)
    files = [_rows(folder, rows), _changed(folder, rows, changes)]
    return _table(f"{changes:,} changes into a table of {rows:,} rows", "merge", files, options)


def _table(title: str, job: str, files: Sequence[Path], options: argparse.Namespace) -> str:
    """Run all contenders in turn, round by round; all files before the last one are in the table already."""
    found: dict[str, list[dict[str, float] | None]] = {name: [] for name in _NAMES if name not in options.without}
    for name in options.stopped:
        found[name].append(None)  # it needs too long for fewer rows
    for number in range(options.rounds):
        names = list(found)
        for name in names[number % len(names) :] + names[: number % len(names)]:
            if None in found[name]:
                continue
            with tempfile.TemporaryDirectory(dir=files[0].parent) as where:
                for each in files:
                    done = _job(name, job, f"{where}/table", each, options)
                    if done is None:
                        break
                found[name].append(done)
                if done is None:
                    options.stopped.append(name)
                if name in _DATABASE:
                    _drop_rows()
                print(title, number, name, done, flush=True)
    lines = [f"## {title}", "", "| | seconds | lowest to highest | memory, GB |", "|---|---|---|---|"]
    for name, runs in found.items():
        whole = [each for each in runs if each is not None]
        if not whole or len(whole) < len(runs):
            lines.append(f"| {_NAMES[name]} | more than {options.limit} | | |")
            continue
        times = [each["seconds"] for each in whole]
        memory = max(each["bytes"] for each in whole) / 1e9
        lines.append(f"| {_NAMES[name]} | {median(times):.1f} | {min(times):.1f} to {max(times):.1f} | {memory:.1f} |")
    return "\n".join([*lines, ""])


def _drop_rows() -> None:
    with psycopg2.connect(os.environ["BENCH_POSTGRES"]) as connection, connection.cursor() as cursor:
        cursor.execute("drop schema public cascade; create schema public")


def _job(name: str, job: str, table: str, rows: Path, options: argparse.Namespace) -> dict[str, float] | None:
    spark = name.startswith("spark")
    program = [options.spark, "-m", "benchmarks.peers.lake_spark"]
    command = program if spark else [sys.executable, "-m", "benchmarks.peers.lake_jobs"]
    try:
        done = subprocess.run(
            [*command, name, job, table, str(rows)],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
            cwd=_ROOT,
            timeout=options.limit,
        )
    except subprocess.TimeoutExpired:
        return None
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def _rows(folder: Path, count: int) -> Path:
    """A file of rows with the ids from 0 on; as changes they are inserts."""
    return _written(folder / f"rows-{count}.parquet", np.arange(count), np.full(count, 2))


def _changed(folder: Path, rows: int, count: int) -> Path:
    """A file of changes."""
    draw = np.random.default_rng(7)
    new = count // 10
    known = draw.choice(rows, count - new, replace=False)
    kinds = np.concatenate([np.zeros(len(known) - new), np.ones(new), np.full(new, 2)]).astype(np.int64)
    return _written(folder / f"changes-{rows}-{count}.parquet", np.concatenate([known, rows + np.arange(new)]), kinds)


def _written(path: Path, ids: np.ndarray, kinds: np.ndarray) -> Path:
    if path.exists():
        return path
    draw = np.random.default_rng(len(ids))
    base = 0 if path.name.startswith("rows") else 1 << 40
    with parquet.ParquetWriter(path, _batch(ids[:0], kinds[:0], draw, base).schema) as writer:
        for start in range(0, len(ids), _PIECE):
            piece = slice(start, start + _PIECE)
            writer.write_batch(_batch(ids[piece], kinds[piece], draw, base + start))
    return path


def _batch(ids: np.ndarray, kinds: np.ndarray, draw: np.random.Generator, first: int) -> pa.RecordBatch:
    """Some rows; `_sequence` grows from `first` on."""
    count = len(ids)
    sequences = np.arange(first, first + count).astype(">i8").tobytes()
    types = pa.DictionaryArray.from_arrays(pa.array(kinds.astype(np.int8)), pa.array(_TYPES)).cast(pa.string())
    return pa.RecordBatch.from_pydict(
        {
            "id": pa.array(ids, pa.int64()),
            "customer": pa.array(draw.integers(0, 100_000, count)).cast(pa.string()),
            "amount": pa.array(draw.random(count) * 1000),
            "quantity": pa.array(draw.integers(0, 100, count), pa.int32()),
            "ordered": pa.array(draw.integers(1_700_000_000, 1_760_000_000, count) * 1_000_000).cast(
                pa.timestamp("us", "UTC")
            ),
            "note": pa.array(draw.integers(0, 1 << 60, count)).cast(pa.string()),
            "_change_type": types,
            "_sequence": pa.FixedSizeBinaryArray.from_buffers(
                pa.binary(8), count, [None, pa.py_buffer(sequences)]
            ).cast(pa.binary()),
        }
    )


if __name__ == "__main__":
    main()

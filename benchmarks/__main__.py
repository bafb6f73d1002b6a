"""Run all contenders in turn on one server, and print and store what came out.

The contenders take turns, round by round, so that a change of the machine's speed meets all of them; ratios are taken
within a round.
"""

import argparse
import json
import os
import platform
import sys
import tempfile
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks import serializers
from benchmarks.bench import Bench
from benchmarks.measure import summary, table
from benchmarks.tables import COLD_CACHE_MEGABYTES, tables
from pravega_emulator import PravegaEmulator

RESULTS = Path(__file__).parent / "results"
KINDS = ("read", "write", "typed", "changes", "one-segment", "cold", "serializers")
_CACHE_MEGABYTES = 2048


def _machine() -> dict[str, Any]:
    packages = ("aiopravega", "pyspark", "pyarrow", "pravega")
    return {
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        **{name: version(name) for name in packages},
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="counted rounds (default 5)")
    parser.add_argument("--warm-up", type=int, default=4, metavar="GB", help="written and read before (default 4)")
    parser.add_argument(
        "--share", type=float, default=1.0, help="of the events, to try the benchmark itself (default 1)"
    )
    parser.add_argument("--only", choices=KINDS, action="append", help="this kind of table; can be given again")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the JSON and the tables")
    return parser


def _store(folder: Path, report: dict[str, Any], texts: list[str]) -> None:
    """After each table, so that a run that breaks off has not been for nothing."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "latest.json").write_text(json.dumps(report, indent=1) + "\n")
    sizes = ", ".join(f"{name} {size / 1e6:.0f} MB" for name, size in report["memory"].items())
    parts = [f"Made by `{report['command']}` on {report['date']}.", *texts, f"Largest reading process: {sizes}."]
    (folder / "latest.md").write_text("\n\n".join(parts) + "\n")


def main() -> None:
    """Command line of `make bench`."""
    options = _parser().parse_args()
    report: dict[str, Any] = {
        "command": "make bench" + (f" ARGS='{' '.join(sys.argv[1:])}'" if sys.argv[1:] else ""),
        "date": datetime.now(UTC).date().isoformat(),
        "machine": _machine(),
        "tables": {},
        "memory": {},
    }
    texts: list[str] = []
    memory: dict[str, int] = report["memory"]
    kinds = options.only or KINDS
    for cache, some in (
        (_CACHE_MEGABYTES, [kind for kind in kinds if kind not in {"cold", "serializers"}]),
        (COLD_CACHE_MEGABYTES, [kind for kind in kinds if kind == "cold"]),
    ):
        if not some:
            continue
        with tempfile.TemporaryDirectory() as folder, Bench(cache, Path(folder)) as bench:
            bench.warm_up(options.warm_up)
            for entry in (entry for kind in some for entry in tables(kind, options.share)):
                rounds = entry.run(bench, options.rounds)
                reference = next(iter(rounds[0]))
                report["tables"][entry.title] = summary(rounds, reference)
                texts.append(table(entry.title, report["tables"][entry.title], reference))
                print(f"\n{texts[-1]}\n", flush=True)
                for name, size in bench.memory.items():
                    memory[name] = max(size, memory.get(name, 0))
                _store(options.out, report, texts)
    if "serializers" in kinds:
        with PravegaEmulator(schema_registry=True) as server:
            assert server.schema_registry_uri is not None
            events = round(serializers.EVENTS * options.share)
            serializers.run(server.schema_registry_uri, serializers.FORMATS, options.out, events, report["command"])


if __name__ == "__main__":
    main()

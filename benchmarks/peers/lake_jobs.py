"""One job of `benchmarks.lakes` without Spark: rows or changes of a Parquet file into a table, by one library.

    python -m benchmarks.peers.lake_jobs CONTENDER land|merge TABLE ROWS

The last line is JSON: the seconds of the work without imports, and the largest resident size of the process in bytes.
"""

import io
import json
import os
import resource
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg2
import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable, write_deltalake
from pyarrow import csv, parquet
from pyiceberg.catalog import load_catalog

from aiopravega import SegmentId, StreamCut, StreamCutRange, StreamName
from pravega_jobs.landing import land
from pravega_jobs.merging import merge_into

NAME = "bench.rows"
# What a hand-written load has: the types of the columns, and its statement once the changes are copied.
_DDL = """create table rows (id bigint{}, customer text, amount double precision, quantity int,
    ordered timestamptz, note text)"""
_STAGING = "create temporary table changes (like rows, _change_type text)"
_MERGE = """
    merge into rows t using changes s on t.id = s.id
    when matched and s._change_type = 'delete' then delete
    when matched then update set customer = s.customer, amount = s.amount, quantity = s.quantity, ordered = s.ordered,
        note = s.note
    when not matched and s._change_type <> 'delete' then
        insert (id, customer, amount, quantity, ordered, note)
        values (s.id, s.customer, s.amount, s.quantity, s.ordered, s.note)
"""


def _ours(form: str, job: str, table: str, rows: str) -> None:
    name = f"delta:{table}"
    if form == "postgres":
        name = f"{os.environ['BENCH_POSTGRES']}#public.rows"
    if form == "iceberg":
        _catalog(table)
        os.environ |= {f"PYICEBERG_CATALOG__LAKE__{key}".upper(): value for key, value in _catalog_of(table).items()}
        name = f"iceberg:lake/{NAME}"
    reader = _reader(rows)
    # A table takes an interval once: each file of rows is an interval.
    number = sum(map(ord, Path(rows).name))
    stream = StreamName("bench", "rows")
    start, end = (StreamCut(stream, {SegmentId(stream, 0, 0): offset}) for offset in (number, number + 1))
    if job == "land":
        land(_plain(reader), name, StreamCutRange(start, end), consumer="bench", interval=Path(rows).name)
    else:
        merge_into(reader, name, StreamCutRange(start, end), key=["id"], consumer="bench", interval=Path(rows).name)


def _deltalake(job: str, table: str, rows: str) -> None:
    if job == "land" or not DeltaTable.is_deltatable(table):
        write_deltalake(table, _plain(_reader(rows)), mode="append")
        return
    merger = DeltaTable(table).merge(_reader(rows), "t.id = s.id", source_alias="s", target_alias="t")
    columns = {name: f"s.{name}" for name in _columns(rows)}
    merger = merger.when_matched_delete("s._change_type = 'delete'").when_matched_update(columns)
    merger.when_not_matched_insert(columns, "s._change_type <> 'delete'").execute()


def _pyiceberg(job: str, table: str, rows: str) -> None:
    catalog = _catalog(table)
    read = parquet.read_table(rows)
    columns = read.select(_columns(rows))
    if job == "land" or not catalog.table_exists(NAME):
        catalog.create_table_if_not_exists(NAME, columns.schema).append(columns)
        return
    # It has no deletes: they are left out.
    kept = columns.filter(pc.not_equal(read["_change_type"], "delete"))
    catalog.load_table(NAME).upsert(kept, join_cols=["id"])


def _by_hand(job: str, _: str, rows: str) -> None:
    """COPY of CSV by psycopg2, and MERGE: a program as people write it."""
    read = parquet.ParquetFile(rows)
    columns = _columns(rows)
    with psycopg2.connect(os.environ["BENCH_POSTGRES"]) as connection, connection.cursor() as cursor:
        cursor.execute("select to_regclass('rows') is null")
        new = cursor.fetchone()[0]
        if new:
            cursor.execute(_DDL.format("" if job == "land" else " primary key"))
        else:
            cursor.execute(_STAGING)
            columns = [*columns, "_change_type"]
        for batch in read.iter_batches(100_000, columns=columns):
            text = pa.BufferOutputStream()
            csv.write_csv(batch, text, csv.WriteOptions(include_header=False))
            cursor.copy_expert(
                f"copy {'rows' if new else 'changes'} from stdin (format csv)", io.BytesIO(text.getvalue())
            )
        if not new:
            cursor.execute(_MERGE)


def _columns(rows: str) -> list[str]:
    return [name for name in parquet.read_schema(rows).names if not name.startswith("_")]


def _reader(rows: str) -> pa.RecordBatchReader:
    file = parquet.ParquetFile(rows)
    return pa.RecordBatchReader.from_batches(file.schema_arrow, file.iter_batches(100_000))


def _plain(reader: pa.RecordBatchReader) -> pa.RecordBatchReader:
    names = [name for name in reader.schema.names if not name.startswith("_")]
    schema = pa.schema([reader.schema.field(name) for name in names])
    return pa.RecordBatchReader.from_batches(schema, (batch.select(names) for batch in reader))


def _catalog_of(table: str) -> dict[str, str]:
    return {"type": "sql", "uri": f"sqlite:///{table}/catalog.db", "warehouse": f"file://{table}"}


def _catalog(table: str) -> Any:
    Path(table).mkdir(exist_ok=True)
    catalog = load_catalog("lake", **_catalog_of(table))
    with suppress(Exception):  # it is there
        catalog.create_namespace("bench")
    return catalog


if __name__ == "__main__":
    contender, *words = sys.argv[1:]
    work: dict[str, Callable[..., None]] = {
        "ours-delta": lambda *given: _ours("delta", *given),
        "ours-iceberg": lambda *given: _ours("iceberg", *given),
        "ours-postgres": lambda *given: _ours("postgres", *given),
        "deltalake": _deltalake,
        "pyiceberg": _pyiceberg,
        "by-hand-postgres": _by_hand,
    }
    begin = time.perf_counter()
    work[contender](*words)
    took = time.perf_counter() - begin
    print(json.dumps({"seconds": took, "bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}))

"""Change events of Debezium: `decode=debezium-json` against Spark's own `from_json` with the same columns.

`python -m benchmarks.changes` measures the decoder alone, on one core, by CPU time; `make bench ARGS='--only changes'`
measures Spark's jobs.
"""

import json
import time
from collections.abc import Callable
from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from aiopravega import StreamName
from aiopravega.schema.arrow.arrays import values_of
from benchmarks.bench import Bench
from benchmarks.measure import Load, Measured
from benchmarks.rounds import Contenders, Rounds, of_one_stream
from pravega_jobs.debezium.changes.connect import schema_in
from pravega_jobs.debezium.changes.decoder import ChangeDecoder
from pravega_jobs.debezium.changes.meanings import columns_of
from pravega_jobs.debezium.changes.options import ChangeOptions
from pravega_jobs.debezium.changes.plan import ChangePlan, columns_for

_ID: Final = 1234567
_DECIMAL: Final = {
    "type": "bytes",
    "name": "org.apache.kafka.connect.data.Decimal",
    "parameters": {"scale": "2", "connect.decimal.precision": "10"},
}
_FIELDS: Final = [
    {"type": "int32", "optional": False, "field": "id"},
    {"type": "string", "optional": True, "field": "first_name"},
    {"type": "string", "optional": True, "field": "email"},
    _DECIMAL | {"optional": True, "field": "balance"},
    {"type": "string", "optional": True, "name": "io.debezium.time.ZonedTimestamp", "field": "created"},
]
_SOURCE: Final = {
    "version": "3.0.0.Final",
    "connector": "postgresql",
    "name": "inv",
    "ts_ms": 1795294887059,
    "snapshot": "false",
    "db": "inv",
    "sequence": '["30000928","30000928"]',
    "ts_us": 1795294887059664,
    "schema": "public",
    "table": "customers",
    "txId": 1005,
    "lsn": 30000928,
    "xmin": None,
}
_CREATED: Final = "2026-11-21T21:01:27.057527Z"
_AFTER: Final = {"id": _ID, "first_name": "Dora", "email": "d@x.org", "balance": "A+c=", "created": _CREATED}
_PAYLOAD: Final = {"before": None, "after": _AFTER, "source": _SOURCE, "transaction": None, "op": "c", "ts_ms": 1}
_IMAGE: Final = {"type": "struct", "fields": _FIELDS, "optional": True, "name": "inv.public.customers.Value"}
# As Debezium's schema is: with the fields of `source` too, which make most of its length.
_SCHEMA: Final = {
    "type": "struct",
    "fields": [
        _IMAGE | {"field": "before"},
        _IMAGE | {"field": "after"},
        {"type": "struct", "fields": [{"type": "string", "field": name} for name in _SOURCE] * 2, "field": "source"},
    ],
    "name": "inv.public.customers.Envelope",
}
_COLUMNS: Final = (
    "id int, first_name string, email string, balance decimal(10,2), created timestamp, _op string, _lsn bigint"
)
_ROW: Final = "struct<id: int, first_name: string, email: string, balance: string, created: timestamp>"
_PARSED: Final = f"struct<before: {_ROW}, after: {_ROW}, op: string, source: struct<lsn: bigint>>"


def event_of(kind: str) -> str:
    """One event, plain or with its schema."""
    document = _PAYLOAD if kind == "plain" else {"schema": _SCHEMA, "payload": _PAYLOAD}
    return json.dumps(document, separators=(",", ":"))


def rounds_of(kind: str, events: int, bench: Bench, rounds: int) -> Rounds:
    """The rounds of one form of events, into the sink that does nothing."""
    session, stream, text = bench.spark.session, bench.new_stream(), event_of(kind)
    start, end = text.split(str(_ID))
    row = sf.concat(sf.lit(start), (sf.col("id") + 1_000_000).cast("string"), sf.lit(end))
    made = session.range(events).select(row.alias("event"))
    made.write.format("pravega").options(**bench.spark.options(stream)).mode("append").save()
    bench.settle()

    def by_spark() -> DataFrame:
        found = bench.spark.frame(stream).select(_parsed(kind).alias("it"))
        return found.selectExpr("it.after.*", "it.op", "it.source.lsn")

    def by_us() -> DataFrame:
        options = bench.spark.options(stream, decode="debezium-json", key="id")
        return session.read.format("pravega").schema(_COLUMNS).options(**options).load()

    def run(make: Callable[[], DataFrame], _: StreamName, load: Load) -> Measured:
        return bench.spark.consume(make(), load, None)

    contenders: Contenders = {
        "raw bytes and Spark's from_json, balance left in base64": partial(run, by_spark),
        "decode=debezium-json": partial(run, by_us),
        # What no decoder can do more than, since each reads the events so.
        "raw bytes alone": partial(run, lambda: bench.spark.frame(stream)),
    }
    results = of_one_stream(contenders, stream, Load(kind, events, len(text)), rounds)
    bench.drop(stream)
    return results


def _parsed(kind: str) -> Column:
    text = sf.col("event").cast("string")
    if kind == "plain":
        return sf.from_json(text, _PARSED)
    return sf.from_json(text, f"struct<payload: {_PARSED}>").getField("payload")


def _alone(kind: str, events: int = 20_000, attempts: int = 5) -> str:
    options = ChangeOptions(key=("id",))
    meanings = schema_in(json.dumps(_SCHEMA))
    plan = ChangePlan(columns_for(columns_of(meanings), options, ("_op", "_lsn")), options, meanings)
    texts = [event_of(kind).replace(str(_ID), str(1_000_000 + number)).encode() for number in range(events)]
    data, offsets = values_of(texts, pa.binary()), np.arange(events)
    decoder, best = ChangeDecoder(plan), float("inf")
    for _ in range(attempts):
        start = time.process_time()
        if decoder.decode(data, offsets).bad:
            raise AssertionError("the events cannot be decoded")
        best = min(best, time.process_time() - start)
    size = len(texts[0])
    return f"| {kind}, {size:,} bytes | {events / best / 1e6:.2f} | {events * size / best / 1e6:,.0f} |"


if __name__ == "__main__":
    print("| events | million/s of CPU time | MB/s |\n|---|---|---|")
    for one in ("plain", "with schemas"):
        print(_alone(one))

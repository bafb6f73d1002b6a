"""Replays whose events have a schema of the registry, or whose interval is one of event times."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from tests.integration.pravega_jobs.replay_job import (
    DAYS,
    READ,
    again,
    client,
    flights,
    minutes,
    process,
    scope,
)

from aiopravega import StreamName
from aiopravega.blocking.intervals import interval_name
from aiopravega.blocking.registry import SchemaRegistry
from aiopravega.ledger import Interval
from aiopravega.schema import RegistryConfig, SchemaFormat, SchemaInfo
from aiopravega.schema.open import register_schema
from pravega_jobs.frames import StreamRange, range_of, read_table, scan_polars, write_arrow
from pravega_jobs.sandbox import replay

__all__ = ["again", "client", "flights", "process", "scope"]


@pytest.fixture
def registry(pravega_emulator):
    with SchemaRegistry(RegistryConfig(uri=pravega_emulator.schema_registry_uri)) as opened:
        yield opened


def test_the_schema_of_the_output_encodes_and_decodes(client, scope, process, again, registry):
    fields = [{"name": "id", "type": "long"}, {"name": "delay", "type": "double"}]
    avro = json.dumps({"type": "record", "name": "Delay", "fields": fields})
    output = StreamName(scope, "typed")
    client.create_stream(output)
    registry.run(register_schema(registry.asynchronous, output, SchemaInfo.of(SchemaFormat.AVRO, "Delay", avro)))

    def typed(flights: pl.LazyFrame) -> pl.LazyFrame:
        return minutes(flights).select("id", "delay")

    def later(flights: pl.LazyFrame) -> pl.LazyFrame:
        return typed(flights).with_columns(pl.col("delay") + 1)

    process(0)
    rows = typed(scan_polars(range_of(client, f"{scope}/flights"), **READ))
    write_arrow(client, rows, output, f"typed {DAYS[0]}", registry=registry, encode="auto")
    given: dict[str, Any] = {
        "intervals": DAYS[0],
        "compare_with": output,
        "write_id": "typed {interval}",
        "registry": registry,
        "output_options": {"encode": "auto"},
    }
    again(typed, **given).assert_same()
    [column] = again(later, **given).columns
    assert (column.column, column.changed) == ("delay", 180)


def test_an_interval_of_event_times_has_events_of_these_times_only(client, scope):
    noon, stream = datetime(2026, 1, 5, 12, tzinfo=UTC), StreamName(scope, "timed")
    times = (noon + timedelta(minutes=2), noon + timedelta(minutes=5))
    for name in ("timed", "out"):
        client.create_stream(f"{scope}/{name}")
    with client.writer(stream) as writer:
        for minute in range(10):
            writer.write(json.dumps({"at": (noon + timedelta(minutes=minute)).isoformat()}).encode(), "a")
    ledger, interval = client.cut_ledger(scope), Interval("ada", stream, interval_name(*times))
    ledger.create()
    whole = range_of(client, stream).range
    ledger.claim(interval, whole, times=times)
    ledger.finish(interval)
    options: Any = {"decode": "json", "columns": "at timestamp", "event_time": "at"}
    rows = read_table(StreamRange(client, stream, whole, times), **options)
    write_arrow(client, rows, f"{scope}/out", "times")

    def all_rows(events: pa.Table) -> pa.Table:
        return events

    result = replay(
        client,
        stream,
        consumer="ada",
        intervals=interval.name,
        code=all_rows,
        compare_with=f"{scope}/out",
        write_id="times",
        options=options,
    )
    result.assert_same()
    assert result.intervals[0].now == 3

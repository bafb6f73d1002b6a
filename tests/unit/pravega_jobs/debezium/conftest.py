"""What a real Debezium Server 3.0.0 wrote, with ten settings, and one decoder for all tests of it."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from aiopravega.schema.arrow.arrays import values_of
from pravega_jobs.debezium.changes import metadata
from pravega_jobs.debezium.changes.connect import schema_in
from pravega_jobs.debezium.changes.decoder import ChangeDecoder
from pravega_jobs.debezium.changes.meanings import columns_of
from pravega_jobs.debezium.changes.options import (
    BeforeImage,
    ChangeOptions,
    Changes,
    Decimals,
    NewColumns,
    TimePrecision,
    Truncates,
)
from pravega_jobs.debezium.changes.plan import ChangePlan, columns_for

VECTORS = Path(__file__).parents[3] / "vectors" / "debezium-events.jsonl.gz"
KEYS = {
    "customers": ("id",),
    "order_items": ("order_id", "line"),
    "full_ident": ("id",),
    "toasted": ("id",),
    "kinds": ("id",),
    "nopk": (),
}


WORDS = {
    "changes": Changes,
    "new_columns": NewColumns,
    "truncates": Truncates,
    "before_image": BeforeImage,
    "time_precision": TimePrecision,
    "decimals": Decimals,
}


def same(value):
    return value


@pytest.fixture(scope="session")
def vectors():
    """All events, as dicts with `settings`, `from`, `table`, `op` and the text `event` (None: a tombstone)."""
    return [json.loads(line) for line in gzip.decompress(VECTORS.read_bytes()).decode().splitlines()]


@pytest.fixture(scope="session")
def written_schema(vectors):
    """An event with its schema, of each table: the newest in the stream."""
    found: dict[str, tuple[int, str]] = {}
    for one in vectors:
        if one["settings"] == "schema" and one["table"]:
            at = json.loads(one["event"])["payload"]["source"]["lsn"]
            if at >= found.get(one["table"], (0, ""))[0]:
                found[one["table"]] = at, one["event"]
    return {table: event for table, (_, event) in found.items()}


@pytest.fixture(scope="session")
def decode():
    """Decodes events: gives the block, and its rows as dicts."""

    def decode(columns, events, about=metadata.USUAL, meanings=None, opener=None, **options):
        words: dict[str, Any] = {name: WORDS.get(name, same)(value) for name, value in options.items()}
        chosen = ChangeOptions(**words)
        if isinstance(columns, str):
            found = schema_in(columns)
            meanings = found if meanings is None else meanings
            columns = columns_of(found)
        schema = columns_for(columns, chosen, about)
        decoder = ChangeDecoder(ChangePlan(schema, chosen, meanings or None))
        data = values_of([event if isinstance(event, bytes) else event.encode() for event in events], pa.binary())
        block = decoder.decode(data, np.arange(len(events), dtype=np.int64) * 10, 7, opener)
        table = pa.Table.from_arrays(block.columns, schema=schema)
        table.validate(full=True)
        return block, table.to_pylist()

    return decode


@pytest.fixture
def upserts(decode):
    """Decodes events with the key `id`."""
    return lambda kinds, events, about=("_op",), **options: decode(
        kinds, events, about=about, **{"key": ("id",)} | options
    )

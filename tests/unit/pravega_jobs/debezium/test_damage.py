"""Whatever happens to events on their way: each has rows, is counted as left out, or is refused with a reason."""

import random

import numpy as np
import pyarrow as pa
import pytest

from aiopravega.errors import ConfigurationError
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
)
from pravega_jobs.debezium.changes.plan import ChangePlan, columns_for

BLOCKS = 25
LARGEST = 12_000
PIECES = (b"null", b"1e400", b'"', b"{}", b"[]", b"-1", b"9" * 25, b"\\u0000", b"\\ud800", b"\n", b'{"schema":')
WORDS = (b'"c"', b"null", b"1795", b'"id"', b'"AA=="', b":true", b'"source"', b'"after"', b'"lsn"')
VALUES = (b"null", b"{}", b"[1]", b'"x"', b"-5", b"0.5", b"true")


def damaged(event: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(event))
    match chance.randrange(5):
        case 0:
            return event[:at] + event[at + chance.randrange(1, 8) :]
        case 1:
            return event[:at] + bytes([chance.randrange(256)]) + event[at + 1 :]
        case 2:
            return event[:at] + chance.choice(PIECES) + event[at:]
        case 3:
            return event[:at]
    return event.replace(chance.choice(WORDS), chance.choice(VALUES), 1)


@pytest.mark.parametrize("seed", range(4))
def test_every_event_is_accounted_for(vectors, written_schema, seed):
    chance = random.Random(seed)
    pool = [one["event"].encode() for one in vectors if one["event"] and len(one["event"]) < LARGEST]
    meanings = schema_in(written_schema["kinds"])
    decoded = 0
    for _ in range(BLOCKS):
        options = ChangeOptions(
            changes=chance.choice(list(Changes)),
            key=("id",),
            new_columns=chance.choice([NewColumns.IGNORE, NewColumns.REST]),
            before_image=chance.choice(list(BeforeImage)),
            time_precision=chance.choice(list(TimePrecision)),
            decimals=chance.choice(list(Decimals)),
            infinity_is_null=chance.random() < 0.5,
        )
        schema = columns_for(columns_of(meanings), options, tuple(metadata.TYPES))
        decoder = ChangeDecoder(ChangePlan(schema, options, chance.choice([meanings, None])))
        chosen = chance.choices(pool, k=chance.randrange(1, 12))
        events = [event if chance.random() < 0.5 else damaged(event, chance) for event in chosen]
        try:
            block = decoder.decode(values_of(events, pa.binary()), np.arange(len(events)))
        except ConfigurationError:  # the block needs an option
            continue
        decoded += 1
        for column in block.columns:
            assert len(column) == len(block.taken)
            column.validate(full=True)
        with_rows = set(block.taken.tolist())
        assert not with_rows & set(block.bad)
        assert len(with_rows) + sum(block.left_out.values()) + len(block.bad) == len(events)
    assert decoded

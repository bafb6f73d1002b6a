"""Rows that a snapshot begun again leaves behind are found and removed; what cannot be known is refused."""

import random

import pytest
from tests.integration.pravega_jobs.ghost_model import KEYS, World
from tests.integration.pyspark_pravega.debezium_events import made

from aiopravega.errors import ConfigurationError
from pyspark_pravega.cdc import current, ghosts

COLUMNS = "id int, n int, _change_type string, _op string, _snapshot string, _ingested_at timestamp, _sequence binary"
TYPES = {"r": "insert", "u": "update_postimage", "d": "delete"}
STEPS = ("put", "put", "delete", "stream", "begin", "commit", "store", "restart", "lose")


def taken(said, lsn, id_, at):
    """An event of a snapshot."""
    return made("r", lsn, at=at, snapshot=said, id=id_, n=0)


@pytest.fixture
def frame(changes, make_stream, write):
    """Some events, as a DataFrame."""

    def frame(*events):
        stream = make_stream(1)
        write(stream, events)
        return changes(stream, COLUMNS, key="id")

    return frame


def ids(found):
    return {row.id for row in found.collect()}


def test_rows_that_the_newest_snapshot_does_not_have_are_ghosts(frame):
    killed = [taken("first", 10, 1, 1), *(taken("true", 10, number, 1) for number in (2, 3))]
    again = [taken("first", 20, 1, 5), taken("last", 20, 3, 6)]
    # 4 came between the two, and went unseen, as 2 did; the delete of 5 was seen. 6 came later, and 7 in a transaction
    # that was open while the second snapshot was taken, which has updated 3, too.
    between = [made("c", 12, at=2, id=4, n=0), made("c", 15, at=2, id=5, n=0), made("d", 16, at=3, id=5, n=0)]
    later = [made("c", 21, at=7, id=6, n=0), made("u", 18, at=8, id=3, n=9), made("c", 19, at=8, id=7, n=0)]
    part = made("r", 30, at=9, snapshot="incremental", id=6, n=0)
    found = frame(*killed, *between, *again, *later, *killed, part)
    assert ids(ghosts(found, ["id"])) == {2, 4}
    assert ids(current(found, ["id"])) == {1, 2, 3, 4, 6, 7}
    assert {row.id: row.n for row in current(found, ["id"], ghosts="remove").collect()} == {1: 0, 3: 9, 6: 0, 7: 0}
    with pytest.raises(ConfigurationError, match="ghosts is keep, remove, not 'drop'"):
        current(found, ["id"], ghosts="drop")


def test_after_snapshots_begun_again_the_state_is_the_databases(spark):
    for seed in range(6):
        choose, world = random.Random(seed), World()
        for _ in range(60):
            step = choose.choice(STEPS)
            world.do((step, choose.choice(KEYS)))
        world.finish()
        rows = [
            (each.id, each.n, TYPES[each.op], each.op, each.snapshot, each.taken, each.position.to_bytes(8, "big"))
            for each in world.events
        ]
        schema = COLUMNS.replace("_ingested_at timestamp", "_ingested_at long")
        found = spark.createDataFrame(rows, schema).selectExpr(
            "* except (_ingested_at)", "timestamp_micros(_ingested_at) _ingested_at"
        )
        state = {row.id: row.n for row in current(found, ["id"], ghosts="remove").collect()}
        assert state == world.rows
        assert ids(ghosts(found, ["id"])) == ids(current(found, ["id"])) - world.rows.keys()


@pytest.mark.parametrize(
    ("events", "message"),
    [
        ([made("c", 1, id=1, n=1)], "have no snapshot"),
        ([taken("last", 10, 1, 1), taken("first", 20, 1, 2), taken("true", 20, 2, 3)], "no event that says last"),
        ([taken("last", None, 1, 1)], "no position in the database's log"),
        ([taken("last", 10, 1, None)], "have no time"),
    ],
)
def test_what_events_do_not_say_is_refused(frame, events, message):
    found = frame(*events)
    with pytest.raises(ConfigurationError, match=message):
        ghosts(found, ["id"])
    with pytest.raises(ConfigurationError, match=message):
        current(found, ["id"], ghosts="remove")


def test_columns_that_are_missing_are_named(changes, make_stream):
    stream = make_stream(1)
    found = changes(stream, "id int, _change_type string, _sequence binary", key="id")
    with pytest.raises(ConfigurationError, match="no column _op, _snapshot, _ingested_at"):
        ghosts(found, ["id"])
    with pytest.raises(ConfigurationError, match="no column _op, _snapshot, _ingested_at"):
        current(found, ["id"], ghosts="remove")

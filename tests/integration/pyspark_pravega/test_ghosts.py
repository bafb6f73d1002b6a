"""Rows that a snapshot begun again leaves behind are found from a real stream; what cannot be known is refused."""

import json

import pytest
from tests.integration.pyspark_pravega.debezium_events import made

from aiopravega.errors import ConfigurationError
from pyspark_pravega.cdc import ghosts

COLUMNS = "id int, n int, _change_type string, _op string, _snapshot string, _sequence binary"


def taken(said, lsn, id_, connector="postgresql"):
    """An event of a snapshot."""
    position = {} if lsn is None else {"lsn": lsn}
    source = {"connector": connector, "table": "t", "snapshot": said, **position}
    return json.dumps({"before": None, "after": {"id": id_, "n": 0}, "source": source, "op": "r", "ts_ms": 1}), "key"


@pytest.fixture
def found(changes, make_stream, write):
    """The ghosts among some events."""

    def found(*events):
        stream = make_stream(1)
        write(stream, [(text if isinstance(text, bytes) else text.encode(), key) for text, key in events])
        return {row.id for row in ghosts(changes(stream, COLUMNS, key="id"), ["id"]).collect()}

    return found


def test_rows_that_the_newest_snapshot_does_not_have_are_ghosts(found):
    killed = [taken("first", 10, 1), *(taken("true", 10, number) for number in (2, 3))]
    again = [taken("first", 20, 1), taken("last", 20, 3)]
    # 4 came between the two, and went unseen, as 2 did; the delete of 5 was seen. 6 came later.
    between, later = [made("c", 15, id=5, n=0), made("d", 16, id=5, n=0)], [made("c", 21, id=6, n=0)]
    part = taken("incremental", 30, 6)
    assert found(*killed, made("c", 12, id=4, n=0), *between, *again, *later, *killed, part) == {2, 4}


@pytest.mark.parametrize(
    ("events", "message"),
    [
        ([made("c", 1, id=1, n=0)], "have no snapshot"),
        ([taken("last", 10, 1), taken("first", 20, 1), taken("true", 20, 2)], "no event that says last"),
        ([taken("last", None, 1, "mongodb")], "no position in the database's log"),
    ],
)
def test_what_events_do_not_say_is_refused(found, events, message):
    with pytest.raises(ConfigurationError, match=message):
        found(*events)


def test_columns_that_are_missing_are_named(changes, make_stream):
    stream = make_stream(1)
    frame = changes(stream, "id int, _change_type string, _sequence binary", key="id")
    with pytest.raises(ConfigurationError, match="no column _op, _snapshot"):
        ghosts(frame, ["id"])

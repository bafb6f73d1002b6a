"""Writes into streams and tables on a real server: the record decides, and the tables have their rows once."""

import json
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pytest
from tests.integration.conftest import client, scope
from tests.integration.pravega_jobs.letters import environment, run

from aiopravega import ScalingPolicy, StreamName
from aiopravega.blocking.intervals import take
from aiopravega.errors import (
    ConfigurationError,
    LandingError,
    NotVisibleError,
    PartialCommitError,
    SinksError,
    TableUnavailableError,
)
from aiopravega.ledger.commits.closing import close_write
from pravega_jobs.frames import RowsByKey, read_table, write_streams
from pravega_jobs.landing import holdings, table_of

__all__ = ["client", "environment", "scope"]
ROWS = pa.table({"id": list(range(20)), "late": [number % 2 for number in range(20)]})


@pytest.fixture
def rides(client, scope):
    """A stream with 20 rides, and two for the results."""
    rides = StreamName(scope, "rides")
    for name in (rides, f"{scope}/punctual", f"{scope}/late"):
        client.create_stream(name, ScalingPolicy.fixed(2))
    with client.writer(rides) as writer:
        writer.write_many([json.dumps(row).encode() for row in ROWS.to_pylist()])
    return rides


@pytest.fixture
def divide(client, scope, rides):
    """Divides the rides of Monday among two streams and tables, as a job does."""

    def divide(tables, write_id="divided monday", generation=1, **given):
        with take(client, rides, consumer="divide", interval="monday") as taken:
            rows = read_table(taken, decode="json", columns="id long, late int")
            late = pa.compute.field("late") == 1
            streams = {f"{scope}/punctual": rows.filter(~late), f"{scope}/late": rows.filter(late)}
            by_key = {table: RowsByKey(rows, ["id"], {"order_by": ["late"]}) for table in given.pop("by_key", ())}
            cuts: dict[str, Any] = {"cuts": taken.range, "consumer": "divide", "interval": "monday"}
            sinks: dict[Any, Any] = streams | dict.fromkeys(tables, rows) | by_key
            return write_streams(client, sinks, write_id, generation=generation, **cuts | given)

    return divide


@pytest.fixture
def counts(client, scope):
    return lambda: [
        len(list(client.read(client.range_of_write(part))))
        for stream in ("punctual", "late")
        for part in client.written(f"{scope}/{stream}", "divided monday")
    ]


class Unavailable:
    """A table of a store that fails when rows are to be shown, until it is mended."""

    def __init__(self, table):
        self.table, self.fails = table, True

    def __getattr__(self, name):
        return getattr(self.table, name)

    @contextmanager
    def standing(self):
        with self.table.standing() as standing:
            yield standing

    def commit(self, staged, landing):
        if self.fails:
            raise TableUnavailableError("the store is away")
        return self.table.commit(staged, landing)


def test_streams_and_tables_get_their_rows_once(divide, counts, client, scope, tmp_path):
    landed, merged = f"parquet:{tmp_path / 'landed'}", f"delta:{tmp_path / 'merged'}"
    first = divide([landed], by_key=[merged])
    again = divide([landed], by_key=[merged])

    assert (first.by_this_try, again.by_this_try, again.record) == (True, False, first.record)
    assert [(each.target, each.interval) for each in first.record.tables] == [(merged, "monday"), (landed, "monday")]
    assert first.record.waiting_tables == ()
    assert counts() == [10, 10]
    assert table_of(landed).rows() == {("divide", "monday"): 20}
    for table in (landed, merged):
        [held] = holdings(table)
        assert (held.interval, held.rows, held.generation) == ("monday", 20, 1)
    assert client.visible_write(f"{scope}/late", "divided monday") == first.record
    assert first.record.expires_at is not None

    second = divide([landed], generation=2)
    assert (second.record.generation, holdings(landed)[0].generation) == (2, 2)
    assert table_of(landed).rows() == {("divide", "monday"): 20}


def test_a_table_that_fails_gets_its_rows_by_the_next_run(divide, counts, client, scope, tmp_path):
    table = Unavailable(table_of(f"parquet:{tmp_path / 'landed'}"))
    with pytest.raises(TableUnavailableError, match="the store is away") as caught:
        divide([table])
    assert "is decided and in its streams: run it again" in caught.value.__notes__[0]

    assert counts() == [10, 10]
    with pytest.raises(NotVisibleError, match=f"its rows are not in parquet:{tmp_path / 'landed'} yet"):
        client.visible_write(f"{scope}/late", "divided monday")
    code, text = run("ledger", "verify", f"{scope}/late", "--write-id", "divided monday")
    assert (code, "without its tables" in text) == (1, True)
    assert run("ledger", "show", f"{scope}/late", "--write-id", "divided monday")[1].splitlines()[-1].endswith("waits")
    commits = client.commit_ledger(scope).asynchronous
    client.run(commits.protocol().finish_unfinished(StreamName(scope, "late")))
    with pytest.raises(PartialCommitError, match="not in parquet:.*Run its task again"):
        client.run(close_write(commits.protocol(), commits, StreamName(scope, "late"), "divided monday"))
    waiting = client.run(commits.owner(StreamName(scope, "late"), "divided monday")).record
    assert (holdings(table.location()), waiting.expires_at) == ([], None)

    table.fails = False
    assert not divide([table]).by_this_try
    assert counts() == [10, 10]
    assert table.rows() == {("divide", "monday"): 20}
    assert client.visible_write(f"{scope}/late", "divided monday").waiting_tables == ()
    assert run("ledger", "verify", f"{scope}/late", "--write-id", "divided monday")[0] == 0


def test_a_person_says_that_the_rows_are_in_the_table(divide, client, scope, tmp_path):
    table = Unavailable(table_of(f"parquet:{tmp_path / 'landed'}"))
    with pytest.raises(TableUnavailableError):
        divide([table])
    assert run("ledger", "resolve", f"{scope}/late", "--write-id", "divided monday", "--done", "--yes")[0] == 0
    assert client.visible_write(f"{scope}/late", "divided monday").waiting_tables == ()


def test_a_table_that_refuses_rows_leaves_all_streams_without_them(divide, client, scope, tmp_path):
    landed = f"parquet:{tmp_path / 'landed'}"
    with pytest.raises(
        ConfigurationError, match=r"is a table, whose rows belong to the interval of a range: give cuts"
    ):
        divide([landed], cuts=None)
    with pytest.raises(ConfigurationError, match="one table twice"):
        divide([landed, table_of(landed)])
    with pytest.raises(ConfigurationError, match="no stream"):
        write_streams(client, {}, "none")
    with pytest.raises((ConfigurationError, LandingError), match="cannot be merged into a ParquetFolder"):
        divide([], by_key=[landed])
    for stream in ("punctual", "late"):
        assert client.head(f"{scope}/{stream}") == client.tail(f"{scope}/{stream}")

    divide([landed])
    for tables in ([], [f"parquet:{tmp_path / 'other'}"]):
        with pytest.raises(SinksError, match=f"its rows went to {landed} for .monday. of .divide. as well"):
            divide(tables)
    assert holdings(f"parquet:{tmp_path / 'other'}") == []
    with pytest.raises(SinksError, match="for 'monday' of 'divide' as well, and are to go to .* of 'renamed'"):
        divide([landed], consumer="renamed")
    assert [each.consumer for each in holdings(landed)] == ["divide"]

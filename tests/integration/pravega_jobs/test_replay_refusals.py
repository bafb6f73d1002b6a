"""Replays that are refused by name: ranges, writes and functions that cannot be replayed; errors of the code."""

import json
from functools import partial
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from tests.integration.pravega_jobs.replay_job import (
    DAYS,
    again,
    both_days,
    client,
    flights,
    less,
    minutes,
    process,
    scope,
)

from aiopravega import StreamName
from aiopravega.errors import (
    ConfigurationError,
    LedgerError,
    MixedRangeError,
    ReplayError,
    StreamMadeAgainError,
    StreamTruncatedError,
)
from aiopravega.ledger import Interval

__all__ = ["again", "both_days", "client", "flights", "process", "scope"]


def test_ranges_that_cannot_be_replayed_are_refused_by_name(client, flights, process, again):
    process(0)
    with pytest.raises(LedgerError, match="interval 'never' of 'delays' .* has no range"):
        again(minutes, intervals="never")
    with pytest.raises(KeyboardInterrupt):
        process(1, finish=False)
    ledger, unfinished = client.cut_ledger(flights.scope), Interval("delays", flights, DAYS[1])
    with pytest.raises(LedgerError, match=f"{unfinished} is failed since .*KeyboardInterrupt"):
        again(minutes)
    ledger.reopen(unfinished, "once more")
    with pytest.raises(LedgerError, match=f"{unfinished} is open since .*: only an interval that is done"):
        again(minutes)
    ledger.skip(unfinished, "not wanted")
    with pytest.raises(LedgerError, match="is skipped since .*: not wanted"):
        again(minutes)
    client.truncate_stream(client.tail(flights))
    with pytest.raises(StreamTruncatedError, match=f"of the range of interval '{DAYS[0]}' .* are gone"):
        again(minutes, intervals=DAYS[0])
    client.seal_stream(flights)
    client.delete_stream(flights)
    client.create_stream(flights)
    with pytest.raises(StreamMadeAgainError, match="belongs to the deleted one"):
        again(minutes, intervals=DAYS[0])


def test_writes_that_cannot_be_compared_are_refused_by_name(client, scope, process, again):
    process(0, declares=False)
    with pytest.raises(ConfigurationError, match="names no write: give compare_with"):
        again(minutes, intervals=DAYS[0])
    output: dict[str, Any] = {"intervals": DAYS[0], "compare_with": f"{scope}/delays"}
    with pytest.raises(ConfigurationError, match=f"names no write into {scope}/delays"):
        again(minutes, **output)
    with pytest.raises(LedgerError, match="has no write 'other' to"):
        again(minutes, write_id="other", **output)
    with pytest.raises(ConfigurationError, match="nothing says into which stream"):
        again(minutes, intervals=DAYS[0], write_id="other")
    with pytest.raises(ConfigurationError, match=r"write \{interval\} where the interval is in it"):
        again(minutes, compare_with=f"{scope}/delays", write_id="delays")
    again(minutes, write_id="delays {interval}", **output).assert_same()
    client.truncate_stream(client.tail(f"{scope}/delays"))
    with pytest.raises(StreamTruncatedError):
        again(minutes, write_id="delays {interval}", **output)


def test_a_write_among_those_of_others_is_refused_by_name(client, scope, process, again):
    output, ledger = StreamName(scope, "delays"), client.commit_ledger(scope)
    head = client.head(output)
    process(0)
    process(1)
    found = ledger.lookup(output, f"delays {DAYS[1]}")
    ledger.amend(found, found.record.model_copy(update={"start": head.to_text()}))
    with pytest.raises(MixedRangeError, match=f"'delays {DAYS[1]}' .*: others wrote to"):
        again(minutes)


@pytest.mark.usefixtures("both_days")
def test_an_error_of_the_code_is_the_cause_of_the_one_that_is_raised(again):
    def broken(flights: pa.Table) -> Any:
        return 1 / (flights.num_rows - 200)

    def lazily_broken(flights: pl.LazyFrame) -> pl.LazyFrame:
        return flights.select("no such column")

    for code, cause in ((broken, ZeroDivisionError), (lazily_broken, pl.exceptions.ColumnNotFoundError)):
        with pytest.raises(ReplayError, match=f"raised {cause.__name__} on interval '{DAYS[0]}'") as caught:
            again(code)
        assert isinstance(caught.value.__cause__, cause)


@pytest.mark.usefixtures("both_days")
def test_functions_that_cannot_be_replayed_are_refused(again):
    def without(flights): ...

    def other(flights: int) -> int:
        return flights

    def two(flights: pa.Table, least: int) -> pa.Table:
        return flights.filter(pa.compute.field("delay") > least)

    def nothing(flights: pa.Table) -> None:
        del flights

    for code, reason in (
        (without, "says what it gets by its annotation"),
        (other, "must have one of"),
        (two, "needs least beside 'flights': give them by functools.partial"),
        (nothing, "the rows are"),
        ("json", "write module:function"),
        ("json:no_such", "has no 'no_such'"),
        ("no_such_module:code", "No module named"),
        ("json:__name__", "is not a function"),
        (json, "is not a function"),
    ):
        with pytest.raises(ConfigurationError, match=reason):
            again(code)
    assert again(partial(two, least=3)).total("removed") > 0
    assert again(f"{less.__module__}:less").total("removed") == 2

"""Recorded intervals of one cluster, loaded into another one and replayed there: `pravega-emulator load`."""

import json
import os
from typing import Any

import polars as pl
import pytest
from tests.integration.pravega_jobs.replay_job import (
    DAYS,
    READ,
    again,
    both_days,
    client,
    flights,
    less,
    minutes,
    process,
    scope,
)

from aiopravega.blocking import PravegaClient
from aiopravega.blocking.intervals import take
from aiopravega.errors import ConfigurationError, LedgerError, NotFoundError
from aiopravega.ledger import Interval
from pravega_emulator.cli import main
from pravega_emulator.named import NamedServer
from pravega_emulator.sandbox import offered
from pravega_jobs.frames import scan_polars, write_streams
from pravega_jobs.sandbox import load, replay

__all__ = ["again", "both_days", "client", "flights", "process", "scope"]


@pytest.fixture
def laptop(pravega_emulator_secure):
    """A client of the cluster that gets the intervals."""
    with PravegaClient(pravega_emulator_secure.config) as laptop:
        yield laptop


@pytest.fixture
def loaded(client, laptop, flights):
    """Loads both days."""

    def loaded(**arguments: Any):
        return load(client, laptop, flights, **{"consumer": "delays", "intervals": DAYS} | arguments)

    return loaded


@pytest.fixture
def typed(pravega_emulator, pravega_emulator_secure, monkeypatch, capsys, flights):
    """The exit status of `pravega-emulator load` into the secure server, and what it prints."""
    for name, value in pravega_emulator.environment().items():
        monkeypatch.setenv(name, value)
    uri = pravega_emulator_secure.controller_uri
    servers = [(each.name, each.running()) for each in NamedServer.matching()]
    [name] = [name for name, server in servers if server is not None and server.controller_uri == uri]

    def typed(*words: str):
        days = [word for day in DAYS for word in ("--interval", day)]
        code = main(["load", "--name", name, str(flights), "--consumer", "delays", *days, *words])
        return code, *capsys.readouterr()

    return typed


def read(client: PravegaClient, interval: Interval) -> list[bytes]:
    record = client.cut_ledger(interval.stream.scope).find(interval)
    assert record is not None
    return [event.data for event in client.read(record.range)]


@pytest.mark.usefixtures("both_days")
def test_a_replay_there_finds_what_a_replay_here_finds(typed, client, laptop, flights, again, scope):
    code, out, _ = typed()
    assert (code, out.splitlines()) == (
        0,
        [
            f"INTERVAL    EVENTS  WRITE              INTO{' ' * (len(scope) + 5)}EVENTS",
            *(f"{day}  200     delays {day}  {scope}/delays  180" for day in DAYS),
        ],
    )
    tails = [laptop.tail(stream) for stream in (flights, f"{scope}/delays")]
    given: dict[str, Any] = {"consumer": "delays", "intervals": DAYS, "key": "id", "options": READ}
    replay(laptop, flights, code=minutes, **given).assert_same()
    found = replay(laptop, flights, code=less, **given)
    assert (found.is_same, found.to_json()) == (False, again(less).to_json())
    for day in DAYS:
        interval = Interval("delays", flights, day)
        assert sorted(read(laptop, interval)) == sorted(read(client, interval))

    code, out, _ = typed("--json")
    assert (code, [each["output_events"] for each in json.loads(out)]) == (0, [180, 180])
    assert [laptop.tail(stream) for stream in (flights, f"{scope}/delays")] == tails


def test_events_of_a_key_keep_their_order_across_a_scaling(client, laptop, flights, loaded, scope):
    def write(numbers: range) -> None:
        with client.writer(flights) as writer:
            writer.write_many(
                [json.dumps({"id": n, "carrier": f"C{n % 7}", "delay": 1.0}).encode() for n in numbers],
                [f"C{n % 7}" for n in numbers],
            )

    write(range(300))
    client.scale_stream(flights, 3)
    write(range(300, 600))
    with take(client, flights, consumer="delays", interval="all") as taken:
        write_streams(client, {f"{scope}/delays": minutes(scan_polars(taken, **READ))}, "delays all")

    loaded(intervals="all", compare_with=f"{scope}/delays", write_id="delays {interval}")

    numbers = [json.loads(event)["id"] for event in read(laptop, Interval("delays", flights, "all"))]
    assert sorted(numbers) == list(range(600))
    for key in range(7):
        of_key = [number for number in numbers if number % 7 == key]
        assert of_key == sorted(of_key)


@pytest.mark.usefixtures("both_days")
def test_only_the_named_columns_are_loaded(loaded, laptop, flights):
    loaded(intervals=DAYS[0], columns=["id", "delay"], output_columns=["id"])
    events = read(laptop, Interval("delays", flights, DAYS[0]))
    assert {frozenset(json.loads(event)) for event in events} == {frozenset(["id", "delay"]), frozenset(["id"])}
    with pytest.raises(LedgerError, match="in the emulator already, with other events"):
        loaded(intervals=DAYS[0])
    with pytest.raises(ConfigurationError, match="no event of .* has a field 'pilot'; they have carrier, delay, id"):
        loaded(intervals=DAYS[1], columns=["id", "pilot"])
    with pytest.raises(ConfigurationError, match="has no column 'pilot'; it has id, carrier, delay"):
        loaded(intervals=DAYS[1], columns=["id", "pilot"], options=READ)
    loaded(intervals=DAYS[1], columns=["delay"], options=READ)
    events = read(laptop, Interval("delays", flights, DAYS[1]))
    assert sorted(map(len, map(json.loads, events))) == [0] * 20 + [1] * 180

    def ids(flights: pl.LazyFrame) -> pl.LazyFrame:
        return flights.filter(pl.col("delay").is_not_null()).select("id")

    given: dict[str, Any] = {"consumer": "delays", "intervals": DAYS[0]}
    replay(laptop, flights, code=ids, **given, options={"decode": "json", "columns": "id long, delay double"})


@pytest.mark.usefixtures("both_days")
def test_more_than_may_be_loaded_is_refused(loaded, typed, laptop, flights):
    with pytest.raises(ConfigurationError, match=r"bytes \(2026-01-05 .*most_bytes is 1,000: load fewer intervals"):
        loaded(most_bytes=1000)
    code, _, err = typed("--most-bytes", "1k")
    assert (code, "most_bytes is 1,000" in err) == (1, True)
    with pytest.raises(NotFoundError):
        laptop.tail(flights)
    with pytest.raises(ConfigurationError, match="more events than most_events=100"):
        loaded(most_events=100)
    assert laptop.head(flights) == laptop.tail(flights)

    # The events of the interval are there, and what was written is not: it is not done, and the next load completes it.
    with pytest.raises(ConfigurationError, match="more events than most_events=300"):
        loaded(intervals=DAYS[0], most_events=300)
    given: dict[str, Any] = {"consumer": "delays", "intervals": DAYS[0], "code": minutes, "options": READ}
    with pytest.raises((NotFoundError, LedgerError)):
        replay(laptop, flights, **given)
    loaded(intervals=DAYS[0], most_events=380)
    replay(laptop, flights, **given).assert_same()


@pytest.mark.usefixtures("both_days")
def test_a_write_into_several_streams_is_loaded_as_a_whole(client, laptop, flights, loaded, scope):
    client.create_stream(f"{scope}/early")
    with take(client, flights, consumer="both", interval="none") as taken:
        rows = pl.DataFrame({"id": [1, 2], "delay": [1.5, -2.0]})
        late = pl.col("delay") > 0
        parts = {f"{scope}/delays": rows.filter(late), f"{scope}/early": rows.filter(~late)}
        write_streams(client, parts, "both none")
    assert taken.range.start == client.head(flights)

    [done] = loaded(consumer="both", intervals="none", compare_with=f"{scope}/early", write_id="both {interval}")

    assert (done.outputs, done.output_events) == ([f"{scope}/delays", f"{scope}/early"], 2)
    for stream, events in ((f"{scope}/delays", [1]), (f"{scope}/early", [2])):
        assert [json.loads(event.data)["id"] for event in laptop.read_visible(stream, "both none")] == events


@pytest.mark.usefixtures("both_days")
def test_a_test_replays_in_an_emulator_by_one_call(pravega_emulator, pravega_emulator_secure, monkeypatch, flights):
    for name, value in pravega_emulator.environment().items():
        monkeypatch.setenv(name, value)
    replayed = offered("replay")
    given: dict[str, Any] = {"consumer": "delays", "intervals": DAYS, "options": READ, "most_events": 1000}
    replayed(pravega_emulator_secure.config, flights, code=minutes, **given).assert_same()
    with pytest.raises(AssertionError, match="1 removed"):
        replayed(pravega_emulator_secure.config, flights, code=less, **given).assert_same()
    with pytest.raises(ConfigurationError, match="into the same cluster"):
        replayed(pravega_emulator.config, flights, code=minutes, **given)


def test_a_load_refuses_tables_and_servers_that_do_not_run(loaded, capsys):
    with pytest.raises(ConfigurationError, match="delta:/lake/delays is a table, whose rows belong to ranges"):
        loaded(compare_with="delta:/lake/delays")
    name = f"none-{os.getpid()}"
    assert main(["load", "--name", name, "a/b", "--consumer", "c", "--interval", "i"]) == 1
    assert f"{name}: not running" in capsys.readouterr().err

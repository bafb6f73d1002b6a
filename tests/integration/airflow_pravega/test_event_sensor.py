"""A sensor that waits for the content of events: in real DAG runs, and its search over scalings, part by part."""

import asyncio
import json
import logging
import sys
from functools import partial
from pkgutil import resolve_name
from types import ModuleType
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from aiopravega import PravegaClient, StreamCut
from aiopravega.errors import ConfigurationError, MalformedEventError, PravegaConnectionError, StreamSealedError
from aiopravega.intervals.conditions.tails import Tail
from airflow_pravega.sensors.event import PravegaEventSensor
from airflow_pravega.triggers.event import PravegaEventTrigger
from pravega_jobs.event_search import EventCondition, EventSearch

SOON = 0.1
PATIENCE = 300
END = "$.type == 'end' && $.day == '2026-01-01'"


def event(**values: Any) -> bytes:
    return json.dumps(values).encode()


@pytest.fixture
def sensor(stream):
    return partial(PravegaEventSensor, stream=str(stream), poll_interval=SOON, poke_interval=SOON, timeout=PATIENCE)


@pytest.mark.parametrize("deferrable", [True, False])
def test_an_event_is_waited_for_and_given_by_its_pointer(run_task, sensor, client, stream, write, deferrable):
    write(event(type="order"), event(type="end", day="2025-12-31"))

    class Announced(PravegaEventSensor):
        """One after whose first check the event is written."""

        def poke(self, context):
            found = super().poke(context)
            if not found:
                write(event(type="end", day="2026-01-01"), event(type="order"))
            return found

        def wait_with(self, *asked, **own):
            write(event(type="end", day="2026-01-01"), event(type="order"))
            super().wait_with(*asked, **own)

    found = run_task(partial(Announced, **sensor.keywords, where=END, deferrable=deferrable)).result()
    assert found["stream"] == str(stream)
    assert json.loads(client.fetch(found["pointer"]).data) == {"type": "end", "day": "2026-01-01"}
    assert StreamCut.from_text(found["cut"]).stream == stream


@pytest.mark.parametrize("deferrable", [True, False])
def test_a_search_from_the_tail_goes_on_there_after_an_outage(run_task, sensor, client, write, monkeypatch, deferrable):
    write(event(number=1))
    look, looks = EventSearch.look, []

    async def failing_once(search, *asked):
        looks.append(search)
        if len(looks) == 1:
            await asyncio.to_thread(write, event(number=2))
            raise PravegaConnectionError("the cluster is away")
        return await look(search, *asked)

    monkeypatch.setattr(EventSearch, "look", failing_once)
    found = run_task(partial(sensor, where="$.number > 0", since="latest", deferrable=deferrable, timeout=60)).result()
    assert json.loads(client.fetch(found["pointer"]).data) == {"number": 2}


def test_a_search_goes_on_after_what_it_found(run_task, sensor, client, write):
    write(*(event(number=number) for number in range(20)))
    found, since = [], "earliest"
    for _ in range(3):
        result = run_task(partial(sensor, where="$.number >= 17", since=since)).result()
        since = result["cut"]
        found.append(json.loads(client.fetch(result["pointer"]).data)["number"])
    assert sorted(found) == [17, 18, 19]


@pytest.fixture
def rules(monkeypatch):
    module = ModuleType("shop_rules")
    monkeypatch.setattr(module, "is_end", lambda data: data == b"END", raising=False)
    monkeypatch.setattr(module, "wrong", lambda value: value["missing"], raising=False)
    monkeypatch.setitem(sys.modules, "shop_rules", module)


@pytest.mark.usefixtures("rules")
def test_a_function_decides_about_the_bytes_of_an_event(run_task, sensor, client, write):
    write(b"\xff", b"END")
    found = run_task(partial(sensor, function="shop_rules:is_end", decode="bytes")).result()
    assert client.fetch(found["pointer"]).data == b"END"


@pytest.mark.usefixtures("rules")
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"where": "$.b == 1"}, "is not JSON"),
        ({"function": "shop_rules:wrong", "on_error": "skip"}, "shop_rules:wrong raises KeyError for the event"),
        ({"function": "shop_rules:nothing"}, "has no 'nothing'"),
        ({"where": "{{ '$.a = 1' }}"}, "is not understood"),
    ],
)
def test_what_waiting_cannot_heal_fails_the_task_at_once(run_task, sensor, write, capsys, given, said):
    write(event(a=1))
    write(b"\xff")
    ran = run_task(partial(sensor, **given))
    assert (ran.state(), ran.tries()) == ("failed", 1)
    assert said in capsys.readouterr().out


def test_arguments_that_cannot_work_stop_the_dag(sensor):
    for given, said in (
        ({}, "where= or function="),
        ({"where": "$.a = 1"}, "is not understood"),
        ({"where": "$", "mode": "reschedule"}, "say deferrable=True"),
    ):
        with pytest.raises(AirflowFailException, match=said):
            sensor(task_id="task", **given)


@pytest.fixture
async def pravega(pravega_config):
    async with PravegaClient(pravega_config) as opened:
        yield opened


async def searched(pravega, search, stream, most=100):
    """The pointers of all events that a search finds, and the number of its looks."""
    found, looks = [], 0
    while True:
        seen = await search.look(pravega, await Tail.of(pravega, stream))
        looks += 1
        if seen is not None:
            found.append(seen.pointer.to_text())
        elif not search.is_behind:
            return found, looks
        assert looks < most


@pytest.mark.parametrize(("most_events", "most_bytes"), [(3, 10**6), (10**4, 200), (1, 1), (10**4, 10**6)])
async def test_each_event_is_found_once_over_scalings_part_by_part(pravega, stream, most_events, most_bytes):
    numbers = iter(range(1000))

    async def write(count):
        async with pravega.writer(stream) as writer:
            for _ in range(count):
                number = next(numbers)
                await writer.write(event(number=number), str(number))

    for segments in (4, 2, 3):
        await write(20)
        await pravega.scale_stream(stream, segments)
    await write(20)
    search = EventSearch(
        EventCondition("$.number >= 5"),
        await pravega.head(stream),
        most_events=most_events,
        most_bytes=most_bytes,
        log=logging.getLogger(),
    )
    found, looks = await searched(pravega, search, stream, most=500)
    values = [json.loads((await pravega.fetch(each)).data)["number"] for each in found]
    assert sorted(values) == list(range(5, 80))
    assert looks >= 76
    assert await pravega.distance(search.cut, await pravega.tail(stream)) == 0


async def test_a_search_in_a_sealed_stream_ends_by_name(pravega, stream, caplog):
    async with pravega.writer(stream) as writer:
        await writer.write(b"no JSON")
        await writer.write(event(a=1))
    await pravega.seal_stream(stream)
    tail = await Tail.of(pravega, stream)
    given: dict[str, Any] = {"most_events": 10, "most_bytes": 10**6, "log": logging.getLogger()}
    head = await pravega.head(stream)
    with pytest.raises(StreamSealedError, match=r"no event is left that holds: \$.a == 2"):
        await EventSearch(EventCondition("$.a == 2", on_error="skip"), head, **given).look(pravega, tail)
    assert "1 events are not JSON, and are left out; the first one is" in caplog.text
    with pytest.raises(MalformedEventError, match="on_error='skip' leaves such events out"):
        await EventSearch(EventCondition("$.a == 2"), head, **given).look(pravega, tail)


async def test_the_trigger_looks_on_until_an_event_holds(pravega, stream):
    async with pravega.writer(stream) as writer:
        await writer.write_many([event(number=number) for number in range(30)])
    made = PravegaEventTrigger(
        since=(await pravega.head(stream)).to_text(),
        condition=EventCondition("$.number == 30").to_json(),
        most_events=7,
        most_bytes=10**6,
        stream=str(stream),
        poll_interval=SOON,
        pravega_conn_id="pravega_default",
    )
    name, arguments = json.loads(json.dumps(made.serialize()))
    again = resolve_name(name)(**arguments)
    async with asyncio.timeout(PATIENCE):
        waiting = asyncio.create_task(anext(aiter(again.run())))
        while again._search is None or again._search.is_behind:  # noqa: ASYNC110 - nothing reports it
            await asyncio.sleep(SOON)
        assert not waiting.done()
        async with pravega.writer(stream) as writer:
            await writer.write(event(number=30))
        found = (await waiting).payload
    assert found["status"] == "found"
    assert json.loads((await pravega.fetch(found["pointer"])).data) == {"number": 30}


async def test_a_trigger_whose_function_is_missing_reports_it(pravega, stream):
    made = PravegaEventTrigger(
        since=(await pravega.head(stream)).to_text(),
        condition={"function": "nowhere:nothing"},
        most_events=7,
        most_bytes=10**6,
        stream=str(stream),
        poll_interval=SOON,
        pravega_conn_id="pravega_default",
    )
    found = (await anext(aiter(made.run()))).payload
    assert (found["status"], found["error"]) == ("error", ConfigurationError.__name__)

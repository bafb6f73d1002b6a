"""One sensor for several streams and for patterns of their names, in real DAG runs; and its one trigger."""

import asyncio
import json
import uuid
from datetime import UTC, datetime
from functools import partial
from pkgutil import resolve_name

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.sdk import DAG, task

from aiopravega import PravegaClient, StreamName
from aiopravega.intervals.conditions.move_condition import MoveCondition
from airflow_pravega.polling import shared_client
from airflow_pravega.sensors.streams_cut import PravegaStreamsCutSensor
from airflow_pravega.triggers.streams import PravegaStreamsTrigger

SOON = 0.1
PATIENCE = 300


@pytest.fixture
def streams(client, scope):
    """Three streams, of which two match `orders-*`."""
    names = [StreamName(scope, name) for name in ("orders-a", "orders-b", "visits")]
    for name in names:
        client.create_stream(name)
    return names


@pytest.fixture
def write_to(client):
    def write_to(stream, *events):
        with client.writer(stream) as writer:
            writer.write_many(list(events))

    return write_to


@pytest.fixture
def sensor():
    return partial(PravegaStreamsCutSensor, poll_interval=SOON, poke_interval=SOON, timeout=PATIENCE)


def dag_of(sensor, **arguments):
    """A DAG of the sensor and of a task for each of its ranges."""
    with DAG(f"dag-{uuid.uuid4().hex}", schedule=None) as dag:
        wait = sensor(task_id="wait", **arguments)

        @task.pravega_range
        def read(stream_cuts):
            return [str(stream_cuts.stream), sorted(event.data.decode() for event in stream_cuts.events())]

        @task
        def put_together(found):
            return sorted(found)

        put_together(read.expand(stream_cuts=wait.output))
    return dag


@pytest.mark.parametrize("deferrable", [True, False])
def test_all_streams_are_waited_for_and_read_by_mapped_tasks(run, sensor, streams, write_to, capsys, deferrable):
    class Announced(PravegaStreamsCutSensor):
        """One after whose first check the last stream moves."""

        def poke(self, context):
            found = super().poke(context)
            if not found:
                write_to(streams[1], b"c")
            return found

        def wait_with(self, *asked, **own):
            write_to(streams[1], b"c")
            super().wait_with(*asked, **own)

    write_to(streams[0], b"a", b"b")
    dag = dag_of(
        partial(Announced, **sensor.keywords), streams=[str(each) for each in streams[:2]], deferrable=deferrable
    )
    date = datetime(2026, 1, 1, tzinfo=UTC)
    ran = run(dag, date)
    assert ran.result("put_together") == [[str(streams[0]), ["a", "b"]], [str(streams[1]), ["c"]]]
    assert f"waiting for 1 of 2 streams, not yet 1 bytes: {streams[1]}" in capsys.readouterr().out
    write_to(streams[0], b"later")
    assert run(dag, date).result("wait") == ran.result("wait")


def test_any_stream_of_a_pattern_is_enough_and_is_given_again(run, sensor, client, scope, streams, write_to):
    write_to(streams[2], b"no order")
    write_to(streams[1], b"b")
    dag = dag_of(sensor, streams=[f"{scope}/orders-*"], wait_for="any")
    first, second = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)
    assert run(dag, first).result("put_together") == [[str(streams[1]), ["b"]]]
    client.create_stream(f"{scope}/orders-new")
    write_to(StreamName(scope, "orders-new"), b"new")
    write_to(streams[1], b"c")
    assert run(dag, first).result("put_together") == [[str(streams[1]), ["b"]]]
    assert run(dag, second).result("put_together") == [
        [str(streams[1]), ["c"]],
        [f"{scope}/orders-new", ["new"]],
    ]
    records = client.cut_ledger(scope).records(f"{dag.dag_id}/wait", streams[1])
    assert [record.is_done for record in records] == [True, True]


def test_a_stream_that_is_made_later_counts(run_task, sensor, client, scope):
    class Announced(PravegaStreamsCutSensor):
        """One that finds no stream, and one then."""

        def wait_with(self, *asked, **own):
            if not client.stream_exists(f"{scope}/new-1"):
                client.create_stream(f"{scope}/new-1")
                with client.writer(f"{scope}/new-1") as writer:
                    writer.write(b"a")
            super().wait_with(*asked, **own)

    announced = partial(Announced, **sensor.keywords, streams=[f"{scope}/new-*"], deferrable=True)
    assert [each["stream"] for each in run_task(announced).result()] == [f"{scope}/new-1"]


def test_a_sealed_stream_ends_the_wait_for_all_and_not_for_any(run_task, sensor, client, streams, write_to, capsys):
    client.seal_stream(streams[0])
    names = [str(each) for each in streams[:2]]
    ran = run_task(partial(sensor, streams=names))
    assert (ran.state(), ran.tries()) == ("failed", 1)
    assert f"StreamSealedError: {streams[0]} is sealed" in capsys.readouterr().out
    write_to(streams[1], b"a")
    assert [each["stream"] for each in run_task(partial(sensor, streams=names, wait_for="any")).result()] == names[1:]


def test_nothing_to_do_is_skipped(run_task, sensor, streams):
    assert run_task(partial(sensor, streams=[str(streams[0])], if_empty="skip")).state() == "skipped"


def test_arguments_that_cannot_work_stop_the_dag(sensor):
    for given, said in (
        ({"streams": []}, "must be a list of names and patterns"),
        ({"streams": "shop/orders-*"}, "must be a list of names and patterns"),
        ({"streams": ["shop/a_b"]}, "is not a stream name"),
        ({"streams": ["sh*p/orders-*"]}, "is not a scope name"),
        ({"streams": ["shop/a"], "reach": "cut"}, "reach is of one stream"),
        ({"streams": ["shop/a"], "since": "cut"}, "since is 'cut', but must be one of"),
        ({"streams": ["shop/a"], "wait_for": "most"}, "wait_for is 'most'"),
        ({"streams": ["shop/a-*", "depot/b-*"]}, "the patterns are of depot and shop"),
    ):
        with pytest.raises(AirflowFailException, match=said):
            sensor(task_id="task", **given)


async def test_one_trigger_waits_for_all_over_one_client(pravega_config, scope):
    async with PravegaClient(pravega_config) as client, asyncio.timeout(PATIENCE):
        names = [f"{scope}/stream-{number}" for number in range(20)]
        for name in names:
            await client.create_stream(name)
        condition = MoveCondition().to_json()
        waits = [
            (
                "PravegaStreamCutTrigger",
                {"stream": name, "since": (await client.tail(name)).to_text(), "condition": condition},
            )
            for name in names
        ]
        made = PravegaStreamsTrigger(
            stream=f"{scope}/stream-*",
            waits=waits,
            wait_for="all",
            scope=scope,
            patterns=["stream-*"],
            known=[name.partition("/")[2] for name in sorted(names)],
            poll_interval=SOON,
            pravega_conn_id="pravega_default",
        )
        name, arguments = json.loads(json.dumps(made.serialize()))
        waiting = asyncio.create_task(anext(aiter(resolve_name(name)(**arguments).run())))
        for stream in names:
            assert not waiting.done()
            async with client.writer(stream) as writer:
                await writer.write(b"a")
        event = (await waiting).payload
        assert (event["status"], event["ranges"].keys()) == ("moved", set(names))
        assert not shared_client._shared.get(asyncio.get_running_loop())

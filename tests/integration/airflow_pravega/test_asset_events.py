"""Asset events of a real Airflow: operators say what they did, and tasks downstream read it as ranges."""

import pytest
from airflow.sdk import DAG, Asset, AssetAlias, task

from aiopravega import StreamCutRange
from aiopravega.errors import StreamMadeAgainError
from airflow_pravega.asset_events import range_of_event, ranges_of_events
from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.operators.events import PravegaReadEventsOperator, PravegaWriteEventsOperator
from airflow_pravega.operators.keep_table import PravegaKeepTableOperator
from airflow_pravega.sensors.stream_cut import PravegaStreamCutSensor


@task
def ranges(outlet, inlet_events=None):
    """What each event of an asset says, and the events of Pravega in its range."""
    with PravegaHook().get_client() as client:
        found = ranges_of_events(inlet_events[outlet], client)
        return [
            [
                each.kind.value,
                sorted(event.data.decode() for event in client.read(each.range)),
                each.rows,
                each.bytes,
                each.consumer,
                each.interval,
                each.write_id,
                each.table,
                each.to_json(),
            ]
            for each in found
        ]


def after(work, *assets):
    """Tasks after a task of each of which reads the events of an asset, in the DAG of this block."""
    for number, asset in enumerate(assets):
        work >> ranges.override(task_id=f"noted_{number}", inlets=[asset])(asset)


def test_a_write_tells_the_task_downstream_its_range(run, stream):
    asset, alias = Asset(f"written-{stream.scope}", uri=f"pravega://{stream}"), AssetAlias(f"alias-{stream.scope}")
    with DAG(f"written-{stream.scope}", schedule=None) as dag:
        write = PravegaWriteEventsOperator(
            task_id="write", stream=str(stream), events=["a", "b"], write_id="once", outlets=[asset, alias]
        )
        after(write, asset, alias)
        found = one_range.override(inlets=[asset])(asset)
        write >> found
        PravegaReadEventsOperator(task_id="read", stream=str(stream), stream_cuts=found)
    done = run(dag)
    result = done.result("write")
    for noted in (done.result("noted_0"), done.result("noted_1")):
        assert noted == [["write", ["a", "b"], 2, result["bytes"], None, None, "once", None, result["cuts"]]]
    assert sorted(done.result("read")["events"]) == ["a", "b"]


@task
def one_range(outlet, inlet_events=None):
    """The range of the last event, for an operator."""
    return range_of_event(inlet_events[outlet][-1]).to_json()


def test_what_takes_a_range_tells_its_interval(run, stream, write, tmp_path):
    write(b'{"id": 1}')
    waited, kept = (Asset(f"{name}-{stream.scope}") for name in ("waited", "kept"))
    taken = Asset(f"taken-{stream.scope}", uri=f"pravega://{stream}")
    with DAG(f"taken-{stream.scope}", schedule=None) as dag:
        wait = PravegaStreamCutSensor(task_id="wait", stream=str(stream), outlets=[waited])
        read = PravegaReadEventsOperator(task_id="read", stream=str(stream), stream_cuts=wait.output, outlets=[taken])
        keep = PravegaKeepTableOperator(
            task_id="keep",
            stream=str(stream),
            table=f"parquet:{tmp_path}/kept",
            columns="id long",
            options={"decode": "json"},
            outlets=[kept],
        )
        after([read, keep], waited, taken, kept)
    done = run(dag)
    given, size = done.result("wait"), done.result("read")["bytes"]
    cuts = StreamCutRange.from_json(given).to_json()
    events, names = ['{"id": 1}'], (given["consumer"], given["interval"])
    assert done.result("noted_0") == [["take", events, None, None, *names, None, None, cuts]]
    assert done.result("noted_1") == [["take", events, 1, size, *names, None, None, cuts]]
    table = done.result("keep")
    [landed] = done.result("noted_2")
    assert landed[:4] == ["land", events, 1, size]
    assert landed[4:8] == [table["consumer"], table["interval"], None, table["table"]]


def test_an_event_of_a_stream_made_again_is_refused(run, stream):
    asset = Asset(f"again-{stream.scope}", uri=f"pravega://{stream}")

    @task(inlets=[asset])
    def made_again(inlet_events=None):
        with PravegaHook().get_client() as opened:
            opened.seal_stream(stream)
            opened.delete_stream(stream)
            opened.create_stream(stream)
            with pytest.raises(StreamMadeAgainError, match="belongs to the deleted one"):
                range_of_event(inlet_events[asset][0], opened)
        return "refused"

    with DAG(f"again-{stream.scope}", schedule=None) as dag:
        write = PravegaWriteEventsOperator(task_id="write", stream=str(stream), events=["a"], outlets=[asset])
        write >> made_again()
    assert run(dag).result("made_again") == "refused"

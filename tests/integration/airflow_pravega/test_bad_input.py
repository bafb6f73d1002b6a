"""What cannot work fails a task before it does anything, says why, and is not tried again; what can pass is."""

import json
import logging
import re
from functools import partial

import pytest
from airflow.sdk import DAG

from aiopravega import StreamCut, StreamCutRange
from airflow_pravega.operators.spark import PravegaSparkReadOperator, PravegaSparkWriteOperator
from airflow_pravega.operators.stream import PravegaCreateStreamOperator
from airflow_pravega.operators.stream_cut import PravegaStreamCutOperator
from airflow_pravega.sensors.stream_cut import PravegaStreamCutSensor

WHOLE = {"start": "UNBOUNDED", "end": "UNBOUNDED"}


@pytest.fixture
def fails_for_good(run_task, capsys):
    """Runs a task that is to fail at its first try, and gives what it printed."""

    def fails_for_good(make):
        run = run_task(make)
        assert run.state() == "failed"
        assert run.tries() == 1
        return capsys.readouterr().out

    return fails_for_good


@pytest.fixture
def cuts(client, stream):
    """The range of two events."""
    with client.writer(stream) as writer:
        writer.write_many([b"one", b"two"])
    return StreamCutRange(client.head(stream), client.tail(stream)).to_json()


@pytest.fixture
def read(tmp_path):
    return partial(PravegaSparkReadOperator, output_path=str(tmp_path / "out"))


def test_columns_that_cannot_work(fails_for_good, read, stream, cuts):
    json_ = partial(read, stream=str(stream), stream_cuts=cuts, options={"decode": "json"})

    assert "'log' is not a type; known are boolean" in fails_for_good(partial(json_, columns="id log"))
    twice = partial(json_, columns="id long", options={"decode": "json", "columns": "id int"})
    assert "but 'id int' in the options: give them once" in fails_for_good(twice)


@pytest.fixture
def bad_range(client, stream, cuts):
    """Ranges that cannot be read, by name."""

    def bad_range(kind: str):
        match kind:
            case "end before start":
                return {"start": cuts["end"], "end": cuts["start"]}
            case "another stream":
                client.create_stream(f"{stream.scope}/other")
                return StreamCutRange(
                    client.head(f"{stream.scope}/other"), client.tail(f"{stream.scope}/other")
                ).to_json()
            case "removed":
                client.truncate_stream(StreamCut.from_text(cuts["end"]))
                return cuts
            case "beyond the tail":
                end = StreamCut.from_text(cuts["end"])
                far = {segment: offset + 1000 for segment, offset in end.positions.items()}
                return {"start": cuts["start"], "end": StreamCut(stream, far).to_text()}
            case _:
                return {"start": cuts["start"], "end": kind}

    return bad_range


BAD_RANGES = {
    "end before start": "InvalidRangeError",
    "another stream": "InvalidStreamCutError",
    "removed": "StreamTruncatedError",
    "beyond the tail": "InvalidRangeError",
    "rubbish": "InvalidStreamCutError",
}


@pytest.mark.parametrize(("kind", "error"), BAD_RANGES.items())
def test_a_range_that_cannot_be_read_fails_before_spark_starts(fails_for_good, read, stream, bad_range, kind, error):
    assert error in fails_for_good(partial(read, stream=str(stream), stream_cuts=bad_range(kind)))


@pytest.mark.parametrize("cuts", ["text", {"start": "x"}, None, {}])
def test_a_range_of_another_shape_is_refused(fails_for_good, read, stream, cuts):
    assert "the texts" in fails_for_good(partial(read, stream=str(stream), stream_cuts=cuts))


@pytest.mark.parametrize("kind", ["another stream", "removed", "rubbish"])
def test_the_sensor_refuses_a_cut_that_it_cannot_wait_from(fails_for_good, stream, bad_range, kind):
    found = bad_range(kind)
    since = found["end"] if kind == "rubbish" else found["start"]
    sensor = partial(PravegaStreamCutSensor, stream=str(stream), since=since, min_bytes=10**6, deferrable=True)
    assert BAD_RANGES[kind] in fails_for_good(sensor)


@pytest.mark.parametrize(
    ("since", "message"),
    [
        ("UNBOUNDED", "is not a position in"),
        ("", "is not the text of a StreamCut"),
        ({"end": 7}, "'7' is not the text of a StreamCut"),
        (["earliest"], "since is of type list"),
    ],
)
def test_the_sensor_refuses_what_is_not_a_position(fails_for_good, stream, since, message):
    sensor = partial(PravegaStreamCutSensor, stream=str(stream), since=since)
    assert message in re.sub(r"[\s│]+", " ", fails_for_good(sensor))


@pytest.mark.parametrize("min_bytes", ["many", -1, "{{ none }}"])
def test_the_sensor_refuses_what_is_not_a_number(fails_for_good, stream, min_bytes):
    assert "whole number" in fails_for_good(partial(PravegaStreamCutSensor, stream=str(stream), min_bytes=min_bytes))


def test_the_sensor_does_not_wait_for_a_stream_that_is_sealed(fails_for_good, client, stream):
    client.seal_stream(stream)
    assert "StreamSealedError" in fails_for_good(
        partial(PravegaStreamCutSensor, stream=str(stream), min_bytes=1, deferrable=True)
    )


@pytest.mark.parametrize(
    "make",
    [
        partial(PravegaStreamCutSensor, deferrable=True),
        PravegaStreamCutOperator,
        partial(
            PravegaSparkReadOperator, stream_cuts={"start": "UNBOUNDED", "end": "UNBOUNDED"}, output_path="/nowhere"
        ),
    ],
    ids=["sensor", "cuts", "read"],
)
@pytest.mark.parametrize("name", ["{scope}/missing", "missing-scope/stream", "no-scope", "{{{{ 'bad name' }}}}/stream"])
def test_a_stream_that_is_not_there_is_named(fails_for_good, scope, make, name):
    said = fails_for_good(partial(make, stream=name.format(scope=scope)))
    assert name.format(scope=scope) in said or "'bad name' is not a scope name" in said


@pytest.mark.parametrize(
    "make",
    [
        PravegaStreamCutOperator,
        PravegaCreateStreamOperator,
        partial(PravegaSparkReadOperator, stream_cuts=WHOLE, output_path="/nowhere"),
        partial(PravegaSparkWriteOperator, source="/nowhere"),
    ],
    ids=["cuts", "create", "read", "write"],
)
def test_a_name_that_pravega_refuses_is_found_before_anything_is_reached(fails_for_good, nobody, make):
    said = fails_for_good(partial(make, stream="scope/{{ 'a_b' }}", pravega_conn_id=nobody))
    assert "'a_b' is not a stream name" in said


def test_a_mapped_task_with_an_invalid_stream_name_is_not_retried(run, scope):
    with DAG(f"dag-{scope}", schedule=None) as dag:
        PravegaStreamCutOperator.partial(task_id="cuts", retries=1, retry_delay=0).expand(stream=[f"{scope}/a_b"])
    done = run(dag)
    assert (done.state("cuts"), done.tries("cuts")) == ("failed", 1)


@pytest.mark.parametrize(
    "make",
    [
        PravegaStreamCutOperator,
        PravegaCreateStreamOperator,
        partial(
            PravegaSparkReadOperator, stream_cuts={"start": "UNBOUNDED", "end": "UNBOUNDED"}, output_path="/nowhere"
        ),
        partial(PravegaSparkWriteOperator, source="/nowhere"),
    ],
    ids=["cuts", "create", "read", "write"],
)
def test_a_server_that_is_not_there_is_tried_again(run_task, make, nobody):
    run = run_task(partial(make, stream="scope/stream", pravega_conn_id=nobody))
    assert run.state() == "failed"
    assert run.tries() == 2


def test_a_connection_that_cannot_work_is_not_tried_again(fails_for_good, monkeypatch):
    monkeypatch.setenv("AIRFLOW_CONN_WRONG", '{"conn_type": "pravega", "host": "http://localhost"}')
    said = fails_for_good(partial(PravegaStreamCutOperator, stream="a/b", pravega_conn_id="wrong"))
    assert "scheme &#x27;http&#x27;" in said or "scheme 'http'" in said


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    ("query", "options", "complaint"),
    [
        ("select 1 as event", {}, "column 'event' is int"),
        ("select 'a' as evnt", {}, "'evnt'"),
        ("select 'a' as event, 1.5 as routing_key", {}, "'routing_key' is decimal(2,1)"),
        ("select 'a' as event", {"exactly_onc": "true"}, "did you mean exactly_once"),
    ],
    ids=["type of event", "unknown column", "type of key", "unknown option"],
)
def test_a_write_that_cannot_work_is_named_and_not_tried_again(fails_for_good, scope, query, options, complaint):
    write = partial(
        PravegaSparkWriteOperator,
        source=lambda spark, _: spark.sql(query),
        stream=f"{scope}/sink",
        options=options,
    )
    assert complaint in fails_for_good(write)


def test_last_needs_records(fails_for_good, stream):
    assert "since='last'" in fails_for_good(partial(PravegaStreamCutSensor, stream=str(stream), record=False))


@pytest.mark.usefixtures("spark")
def test_secrets_are_in_no_log(run_task, stream, pravega_config, connection_json, monkeypatch, tmp_path, capfd, caplog):
    caplog.set_level(logging.DEBUG)
    # At DEBUG it prints all that Python says to Spark's JVM; in a task's log Airflow masks a connection's secrets.
    caplog.set_level(logging.INFO, "py4j")
    connection = json.loads(connection_json(pravega_config)) | {"login": "ada", "password": "s3cret"}
    monkeypatch.setenv("AIRFLOW_CONN_SECRET", json.dumps(connection))
    sensor = partial(PravegaStreamCutSensor, stream=str(stream), min_bytes=0, pravega_conn_id="secret")
    found = run_task(sensor).result()
    path = str(tmp_path / "out")
    read = partial(PravegaSparkReadOperator, stream=str(stream), output_path=path, pravega_conn_id="secret")
    run_task(partial(read, stream_cuts=found)).result()
    run_task(partial(read, stream_cuts=found, options={"unknown": "option"}))
    out, err = capfd.readouterr()
    assert "unknown" in out
    assert "s3cret" not in out + err + caplog.text

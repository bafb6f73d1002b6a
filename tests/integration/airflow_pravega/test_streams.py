"""Scopes, streams and cuts, made and looked up by tasks of a real Airflow."""

from functools import partial

from aiopravega import RetentionPolicy, ScalingPolicy, StreamCutRange, StreamName
from airflow_pravega.operators.stream import (
    PravegaCreateScopeOperator,
    PravegaCreateStreamOperator,
    PravegaDeleteScopeOperator,
    PravegaDeleteStreamOperator,
)
from airflow_pravega.operators.stream_cut import PravegaStreamCutOperator


def test_a_scope_is_made_once_and_deleted_once(run_task, client, scope):
    name = f"{scope}-2"
    create = partial(PravegaCreateScopeOperator, scope=name)
    assert run_task(create).result() is True
    assert run_task(create).result() is False
    assert name in client.list_scopes()
    delete = partial(PravegaDeleteScopeOperator, scope=name)
    assert run_task(delete).result() is True
    assert run_task(delete).result() is False


def test_a_scope_with_streams_is_not_deleted_and_not_tried_again(run_task, stream):
    run = run_task(partial(PravegaDeleteScopeOperator, scope=stream.scope))
    assert run.state() == "failed"
    assert run.tries() == 1


def test_a_stream_is_made_with_its_scope_segments_and_tags(run_task, client, scope):
    create = partial(
        PravegaCreateStreamOperator,
        stream=f"{scope}-2/made",
        scaling=ScalingPolicy.fixed(3),
        retention=RetentionPolicy.bytes(10**9),
        tags=["sales"],
    )
    assert run_task(create).result() is True
    assert run_task(create).result() is False
    assert len(client.head(f"{scope}-2/made").positions) == 3
    assert client.list_streams(f"{scope}-2", "sales") == [StreamName(f"{scope}-2", "made")]


def test_a_stream_of_a_missing_scope_can_be_refused(run_task, scope):
    run = run_task(partial(PravegaCreateStreamOperator, stream=f"{scope}-3/made", create_scope=False))
    assert run.state() == "failed"
    assert run.tries() == 1


def test_a_stream_is_deleted_once(run_task, client, stream):
    delete = partial(PravegaDeleteStreamOperator, stream=str(stream))
    assert run_task(delete).result() is True
    assert run_task(delete).result() is False
    assert not client.stream_exists(stream)


def test_cuts_are_looked_up_as_plain_json(run_task, client, stream):
    with client.writer(stream) as writer:
        writer.write(b"event", routing_key="k")
    whole = run_task(partial(PravegaStreamCutOperator, stream=str(stream))).result()
    found = StreamCutRange.from_json(whole)
    assert found.start == client.head(stream)
    assert [event.data for event in client.read(found)] == [b"event"]
    rest = run_task(partial(PravegaStreamCutOperator, stream=str(stream), start=whole)).result()
    assert rest == {"start": whole["end"], "end": whole["end"]}

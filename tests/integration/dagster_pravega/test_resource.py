"""The resource on a real server: cuts, checked ranges, and connections that end with the run."""

import dagster as dg
import pytest

from aiopravega import StreamCutRange
from aiopravega.errors import InvalidStreamCutError
from dagster_pravega import PravegaResource


@pytest.fixture
def resource(pravega_config, scope):
    made = PravegaResource(controller_uri=pravega_config.controller_uri, scope=scope)
    yield made
    made.close()


def test_a_range_goes_by_default_from_the_head_to_the_tail(resource, make_stream, append, client):
    stream = make_stream()
    append(stream, ["a", "b"])
    middle = resource.tail("stream")
    append(stream, ["c"])
    head, tail = resource.head("stream"), resource.tail("stream")

    assert resource.range("stream") == StreamCutRange(head, tail)
    assert resource.range(str(stream), middle.to_text()) == StreamCutRange(middle, tail)
    assert resource.range("stream", "earliest", middle.to_text()) == StreamCutRange(head, middle)
    assert resource.range("stream", "Latest", "unbounded") == StreamCutRange(tail, tail)
    assert client.distance(middle, tail) == 8 + 1


def test_a_range_of_another_stream_is_refused(resource, make_stream):
    make_stream("one")
    make_stream("two")
    with pytest.raises(InvalidStreamCutError, match="two is to be read"):
        resource.range("two", resource.head("one").to_text())


def test_one_client_serves_a_run_and_is_closed_with_it(resource, make_stream, instance):
    make_stream()
    used = []

    @dg.asset
    def asks(pravega: PravegaResource) -> None:
        pravega.head("stream")
        used.append((pravega, pravega.client))
        pravega.tail("stream")
        assert pravega.client is used[0][1]

    assert dg.materialize([asks], resources={"pravega": resource}, instance=instance).success

    [(during, _)] = used
    assert during._opened is None

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException, HookLineageCollector
from airflow.sdk import Asset, task
from airflow.sdk.execution_time.context import OutletEventAccessor

from aiopravega.errors import ConfigurationError
from airflow_pravega.assets import PARTITIONS, takes_keys
from airflow_pravega.operators.events import PravegaWriteEventsOperator


@pytest.mark.parametrize(
    "uri", ["pravega://examples/flights", "pravega://examples/flights/", "PRAVEGA://examples/flights"]
)
def test_the_uri_of_a_stream_is_an_asset(uri: str):
    assert Asset(uri).uri == "pravega://examples/flights"


def test_names_keep_their_case_and_their_signs():
    assert Asset("pravega://My-Scope.1/My-stream.2").uri == "pravega://My-Scope.1/My-stream.2"


@pytest.mark.parametrize(
    "uri",
    [
        "pravega://examples",
        "pravega://examples/",
        "pravega:///flights",
        "pravega://examples/flights/more",
        "pravega://examples/my_flights",
        "pravega://exa%20mples/flights",
        "pravega://host:9090/examples/flights",
        "pravega://user@examples/flights",
        "pravega://examples/flights?cut=1",
    ],
)
def test_anything_else_is_refused_when_the_dag_is_parsed(uri: str):
    with pytest.raises(ConfigurationError, match="write pravega://scope/stream"):
        Asset(uri)


def test_hooks_report_streams_as_assets():
    names = {"scope": "examples", "stream": "flights"}
    made = HookLineageCollector().create_asset(scheme="pravega", asset_kwargs=names)
    assert made == Asset("pravega://examples/flights")


def test_outlets_that_ask_for_keys_are_refused_where_airflow_takes_none(monkeypatch):
    hourly = Asset("hourly", extra={PARTITIONS: "%Y-%m-%dT%H"})

    @task.pravega_range(outlets=[hourly])
    def read(stream_cuts):
        return stream_cuts

    def make(**outlets):
        return PravegaWriteEventsOperator(task_id="write", stream="shop/orders", events=["a"], **outlets)

    if takes_keys():
        make(outlets=[hourly])
        monkeypatch.delattr(OutletEventAccessor, "add_partitions")
    make(outlets=[Asset("plain")])
    for made in (lambda: make(outlets=[hourly]), lambda: read({})):
        with pytest.raises(AirflowFailException, match="'pravega_partitions' of the outlet .*hourly.* from 3.3 on"):
            made()

"""The gate for data in DAGs of a real Airflow."""

from functools import partial

import pytest

from aiopravega import StreamCutRange
from aiopravega.blocking.registry import SchemaRegistry
from aiopravega.schema import GroupProperties, RegistryConfig, SchemaFormat, SchemaInfo, header
from airflow_pravega.operators.data_gate import PravegaDataGateOperator

SCHEMA = SchemaInfo.of(SchemaFormat.JSON, "visit", '{"type":"object","properties":{"page":{"type":"integer"}}}')


@pytest.fixture
def head(pravega_config, pravega_emulator, monkeypatch, connection_json, stream):
    """The header of the stream's events, whose schema the registry has."""
    uri = pravega_emulator.schema_registry_uri
    monkeypatch.setenv("AIRFLOW_CONN_PRAVEGA_DEFAULT", connection_json(pravega_config, schema_registry_uri=uri))
    with SchemaRegistry(RegistryConfig(uri=uri)) as registry:
        registry.create_group(stream.stream, GroupProperties.of(SchemaFormat.JSON), stream.scope)
        version = registry.add_schema(stream.stream, SCHEMA, stream.scope)
        yield header(registry.encoding_id(stream.stream, version, "", stream.scope))


def test_a_range_that_fits_its_schema_passes_and_another_fails(run_task, client, stream, head, capsys):
    with client.writer(stream) as writer:
        writer.write(head + b'{"page": 1}')
    good = StreamCutRange(client.head(stream), client.tail(stream))
    with client.writer(stream) as writer:
        writer.write(head + b'{"page": "one"}')

    gate = partial(PravegaDataGateOperator, stream=str(stream), sample="all")
    assert run_task(partial(gate, stream_cuts=good.to_json())).result()["events"] == 1

    run = run_task(gate)
    assert (run.state(), run.tries()) == ("failed", 1)
    assert "$.page: 'one' is not of type 'integer'" in capsys.readouterr().out.replace("&#x27;", "'")


@pytest.mark.usefixtures("head")
def test_what_is_not_a_number_or_range_is_refused(run_task, stream, capsys):
    assert run_task(partial(PravegaDataGateOperator, stream=str(stream), sample="many")).state() == "failed"
    assert "whole number" in capsys.readouterr().out
    assert run_task(partial(PravegaDataGateOperator, stream=str(stream), stream_cuts={})).state() == "failed"
    assert "with the texts" in capsys.readouterr().out

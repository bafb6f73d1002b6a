"""Tables by the schemas of the registry: versions side by side, and writes that a schema allows."""

import json

import dagster as dg
import polars as pl
import pyarrow as pa
import pytest

from aiopravega.blocking.registry import SchemaRegistry
from aiopravega.schema import RegistryConfig, SchemaFormat, SchemaInfo
from aiopravega.schema.open import register_schema
from dagster_pravega import (
    PravegaArrowIOManager,
    PravegaResource,
    SchemaRegistryResource,
    StreamBatches,
    pravega_stream_spec,
)


def schema_of(*names: str) -> SchemaInfo:
    """A record of numbers, of which all but the first have a default."""
    fields = [{"name": name, "type": "long", **({"default": 0} if at else {})} for at, name in enumerate(names)]
    record = {"type": "record", "namespace": "rides", "name": "Ride", "fields": fields}
    return SchemaInfo.of(SchemaFormat.AVRO, "rides.Ride", json.dumps(record))


@pytest.fixture
def registry(pravega_emulator):
    with SchemaRegistry(RegistryConfig(uri=pravega_emulator.schema_registry_uri)) as opened:
        yield opened


@pytest.fixture
def typed(pravega_config, pravega_emulator):
    """The IO manager with a registry."""
    return PravegaArrowIOManager(
        pravega=PravegaResource(controller_uri=pravega_config.controller_uri),
        schema_registry=SchemaRegistryResource(uri=pravega_emulator.schema_registry_uri),
    )


def test_rows_are_written_and_read_by_the_newest_schema_of_the_stream(stream, registry, typed, instance):
    rows: list[dict[str, int]] = []
    spec = pravega_stream_spec(str(stream), key="source")

    def write(table, schema=None):
        if schema is not None:
            registry.run(register_schema(registry.asynchronous, stream, schema))

        @dg.asset(
            io_manager_key="tables",
            metadata={"pravega/stream": str(stream), "pravega/options": {"encode": "auto"}},
        )
        def rides():
            return table

        result = dg.materialize([rides], resources={"tables": typed}, instance=instance, raise_on_error=False)
        return result.success or str(result.get_step_failure_events()[0].step_failure_data)

    @dg.asset(ins={"rides": dg.AssetIn("source", input_manager_key="tables")})
    def read(rides: StreamBatches) -> dg.MaterializeResult[None]:
        rows.extend(rides.reader.read_all().to_pylist())
        return rides.done()

    def all_rows():
        rows.clear()
        result = dg.materialize(
            [spec, read], selection=[read], resources={"tables": typed}, instance=instance, raise_on_error=False
        )
        assert result.success
        return sorted(rows, key=lambda row: row.get("id", 0))

    assert "GroupNotFoundError" in str(write(pa.table({"id": [1]})))
    assert all_rows() == []
    assert write(pa.table({"id": [1, 2]}), schema_of("id")) is True
    assert all_rows() == [{"id": 1}, {"id": 2}]
    assert write(pl.DataFrame({"id": [3], "minutes": [9]}), schema_of("id", "minutes")) is True
    assert all_rows() == [{"id": 1, "minutes": 0}, {"id": 2, "minutes": 0}, {"id": 3, "minutes": 9}]

    assert "ConfigurationError" in str(write(pa.table({"id": [4], "other": [1]})))
    assert len(all_rows()) == 3

"""Gates and catalogs in Dagster: checks that hold back what follows, and assets of the streams of a scope."""

import json

import dagster as dg
import pytest
from pydantic import BaseModel

from aiopravega import StreamName
from aiopravega.blocking.catalog import PravegaCatalog
from aiopravega.blocking.registry import SchemaRegistry
from aiopravega.schema import RegistryConfig, SchemaFormat, SchemaInfo, header
from dagster_pravega import (
    PravegaResource,
    SchemaRegistryResource,
    build_data_gate,
    build_external_assets,
    build_schema_gate,
    pravega_stream_spec,
)


class Visit(BaseModel):
    page: int


class OptionalPage(BaseModel):
    page: int | None = None


class TextPage(BaseModel):
    page: str


@pytest.fixture(autouse=True)
def running_spark():
    """These tests need no Spark."""


@pytest.fixture
def resources(pravega_config, pravega_emulator):
    return {
        "pravega": PravegaResource(controller_uri=pravega_config.controller_uri),
        "schema_registry": SchemaRegistryResource(uri=pravega_emulator.schema_registry_uri),
    }


@pytest.fixture
def registry(pravega_emulator):
    with SchemaRegistry(RegistryConfig(uri=pravega_emulator.schema_registry_uri)) as opened:
        yield opened


@pytest.fixture
def visits(client, registry, scope) -> StreamName:
    """A stream with a schema, whose readers must be able to read all that was written."""
    text = json.dumps(Visit.model_json_schema())
    return PravegaCatalog(client, registry).create(f"{scope}/visits", SchemaInfo.of(SchemaFormat.JSON, "", text)).stream


@pytest.fixture
def run(resources, visits, instance):
    """Runs a check and an asset that follows the checked one; returns whether that one ran, and the check."""

    def run(build, **arguments):
        source = pravega_stream_spec(str(visits))
        gate = build(source, stream=str(visits), **arguments)
        ran = []

        @dg.asset(deps=[source])
        def follower() -> None:
            ran.append(True)

        job = dg.define_asset_job("job", selection=dg.AssetSelection.all() | dg.AssetSelection.all_asset_checks())
        definitions = dg.Definitions([source, follower], asset_checks=[gate], resources=resources, jobs=[job])
        result = definitions.resolve_job_def("job").execute_in_process(instance=instance, raise_on_error=False)
        [evaluation] = result.get_asset_check_evaluations()
        return bool(ran), evaluation

    return run


def test_what_follows_runs_only_if_the_schema_may_follow(run, registry, visits):
    ran, check = run(build_schema_gate, candidate=OptionalPage, register=True)
    assert (ran, check.passed) == (True, True)
    assert check.metadata["pravega/version"].value == 1

    ran, check = run(build_schema_gate, candidate=TextPage, register=True)
    assert (ran, check.passed) == (False, False)
    table = check.metadata["pravega/violations"]
    assert isinstance(table, dg.TableMetadataValue)
    assert any("page" in str(record.data["path"]) for record in table.records)
    assert "refused" in check.description
    assert len(registry.versions("visits", visits.scope)) == 2


def test_imports_of_a_proto_file_are_found_from_its_roots(run, tmp_path, visits):
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "money.proto").write_text('syntax = "proto3"; message Money { int64 cents = 1; }')
    order = tmp_path / "shop" / "order.proto"
    order.write_text('syntax = "proto3"; import "shop/money.proto"; message Order { Money price = 1; }')

    ran, check = run(
        build_schema_gate, candidate=order, proto_path=tmp_path, group=f"{visits.scope}-orders", register=True
    )

    assert (ran, check.passed, check.metadata["pravega/schema_type"].value) == (True, True, "Order")


def test_a_gate_need_not_block(run):
    ran, check = run(build_schema_gate, candidate=TextPage, blocking=False)
    assert (ran, check.passed) == (True, False)


def test_later_assets_run_only_if_the_data_fits_its_schema(run, client, registry, visits):
    [version] = registry.versions("visits", visits.scope)
    head = header(registry.encoding_id("visits", version.version_info, "", visits.scope))
    with client.writer(visits) as writer:
        writer.write(head + b'{"page": 1}')
    ran, check = run(build_data_gate)
    assert (ran, check.passed) == (True, True)

    with client.writer(visits) as writer:
        writer.write(head + b'{"page": "one"}')
    ran, check = run(build_data_gate, sample=None)
    assert (ran, check.passed) == (False, False)
    [failure] = check.metadata["pravega/failures"].records
    assert "does not fit its JSON Schema" in str(failure.data["reason"])
    assert client.fetch(str(failure.data["pointer"])).data == head + b'{"page": "one"}'


@pytest.mark.usefixtures("visits")
def test_the_streams_of_a_scope_are_external_assets_with_their_columns(client, registry, resources, scope):
    PravegaCatalog(client, registry).create(f"{scope}/raw", tags=["sales", "not a tag"])

    raw, typed = build_external_assets(
        scope, pravega=resources["pravega"], schema_registry=resources["schema_registry"], group_name="streams"
    )

    assert (raw.key, typed.key) == (dg.AssetKey([scope, "raw"]), dg.AssetKey([scope, "visits"]))
    assert (raw.kinds, typed.kinds) == ({"pravega"}, {"pravega", "json"})
    assert raw.metadata["pravega/tags"] == ["not a tag", "sales"]
    assert "pravega/sales" in raw.tags
    [column] = typed.metadata["dagster/column_schema"].columns
    assert (column.name, column.type, column.constraints.nullable) == ("page", "integer", False)
    assert typed.group_name == "streams"
    assert [spec.key for spec in build_external_assets(scope, pravega=resources["pravega"], tag="sales")] == [raw.key]
    dg.Definitions([raw, typed]).get_repository_def()

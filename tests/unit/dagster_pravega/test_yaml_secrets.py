"""Secrets of files and resources: Dagster's database has the names of their variables, and never their values."""

from typing import Any

import dagster as dg
import pytest
from dagster.components.testing import create_defs_folder_sandbox
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # it comes with dg, without types
from pydantic import ValidationError
from tests.system.dagster.stored import stored_texts

from aiopravega.errors import ConfigurationError
from dagster_pravega import (
    IcebergCatalog,
    LandingDatabase,
    ObjectStore,
    PravegaArrowIOManager,
    PravegaCdcComponent,
    PravegaResource,
    PravegaScopeComponent,
    PravegaSparkIOManager,
    PravegaStreamComponent,
    RangeConfig,
    SchemaRegistryResource,
    pravega_stream_spec,
)
from dagster_pravega.metadata.written import WriteConfig
from dagster_pravega.ops.cut_backfill import CutBackfillConfig

SECRETS = {
    name: f"canary-of-{name.lower()}"
    for name in (
        *("OF_CLUSTER", "OF_OTHER", "OF_REGISTRY", "OF_DATABASE", "OF_MANAGER"),
        *("OF_CATALOG", "OF_STORE", "OF_AZURE"),
    )
}


@pytest.fixture(autouse=True)
def _environment(monkeypatch):
    for name, secret in SECRETS.items():
        monkeypatch.setenv(name, secret)


def load(component: Any, attributes: dict[str, Any]) -> dg.Definitions:
    with create_defs_folder_sandbox() as sandbox:
        contents = {"type": f"dagster_pravega.{component.__name__}", "attributes": attributes}
        path = sandbox.scaffold_component(component, defs_yaml_contents=contents)
        with sandbox.load_component_and_build_defs(path) as (_, definitions):
            return definitions


def stored_by_a_run(resources: dict[str, Any], folder) -> bytes:
    """What Dagster's databases have after a run in which all resources are set up."""

    @dg.asset(required_resource_keys=set(resources))
    def uses(context: dg.AssetExecutionContext) -> None:
        for key in resources:
            context.log.info("%s %r", key, getattr(context.resources, key))

    folder.mkdir()
    with dg.DagsterInstance.local_temp(str(folder)) as instance:
        assert dg.materialize([uses], resources=resources, instance=instance).success
    return stored_texts(folder)


def test_of_a_secret_of_a_file_only_its_variable_is_stored(tmp_path):
    tables = {
        "scope": "shop",
        "topic_prefix": "inv",
        "table": "delta:/lake/{name}",
        "tables": [{"name": "public.orders", "key_of_rows": ["id"]}],
        "connection": {"username": "u", "password_env": "OF_CLUSTER"},
        "spark": {"options": {"schema_registry_password_env": "OF_REGISTRY", "commit_ledger": "shop/writes"}},
        "database": {"dsn_env": "OF_DATABASE"},
        "store": {"secret_access_key_env": "OF_STORE", "options": {"azure_account_key_env": "OF_AZURE"}},
    }
    lake = tables | {"table": "shop.{name}", "resource_key": "third", "key_prefix": ["a"], "stream_key_prefix": ["a"]}
    lake |= {"catalog": {"uri": "https://catalog", "credential_env": "OF_CATALOG", "properties": {"s3.region": "eu"}}}
    other = {"streams": [], "connection": {"token_env": "OF_OTHER"}, "resource_key": "other"}
    resources = dict(load(PravegaCdcComponent, tables).resources or {})
    resources |= load(PravegaStreamComponent, other).resources or {}
    resources |= {
        name: each for name, each in dict(load(PravegaCdcComponent, lake).resources or {}).items() if "catalog" in name
    }
    of_tables = {"pravega", "pravega_spark", "pravega_database", "pravega_store", "third_catalog"}
    assert set(resources) == {*of_tables, "other"}

    stored = stored_by_a_run(resources, tmp_path / "home")
    assert [name for name in SECRETS if name.encode() not in stored] == ["OF_MANAGER"]
    assert resources["pravega_spark"].options == {
        "schema_registry_password": dg.EnvVar("OF_REGISTRY"),
        "commit_ledger": "shop/writes",
    }
    assert [name for name, secret in SECRETS.items() if secret.encode() in stored] == []


def test_of_a_secret_of_python_only_its_variable_is_stored_with_env_var(tmp_path):
    def made(of: Any) -> dict[str, Any]:
        cluster = PravegaResource(username="u", password=of("OF_CLUSTER"))
        registry = SchemaRegistryResource(uri="http://registry:9092", token=of("OF_REGISTRY"))
        nested = PravegaResource(username="u", password=of("OF_MANAGER"))
        return {
            "cluster": cluster,
            "registry": registry,
            "database": LandingDatabase(dsn=of("OF_DATABASE")),
            "catalog": IcebergCatalog(uri=of("OF_CATALOG")),
            "store": ObjectStore(secret_access_key=of("OF_STORE"), options={"azure_account_key": of("OF_AZURE")}),
            "spark": PravegaSparkIOManager(pravega=nested),
            "arrow": PravegaArrowIOManager(pravega=cluster, schema_registry=registry),
        }

    names = {"OF_CLUSTER", "OF_REGISTRY", "OF_DATABASE", "OF_CATALOG", "OF_STORE", "OF_AZURE"}
    stored = stored_by_a_run(made(dg.EnvVar), tmp_path / "named")
    assert all(name.encode() in stored for name in names)
    assert [name for name, secret in SECRETS.items() if secret.encode() in stored] == []
    # The reason for EnvVar: a text, also one from `os.environ`, is kept as it is.
    stored = stored_by_a_run(made(SECRETS.__getitem__), tmp_path / "plain")
    assert {name for name in names if SECRETS[name].encode() in stored} == names


CDC = {"scope": "shop", "topic_prefix": "inv", "tables": [{"name": "a.b", "key_of_rows": ["id"]}]}


@pytest.mark.parametrize(
    ("component", "attributes", "way_out"),
    [
        (PravegaStreamComponent, {"streams": [], "connection": {"password": "VALUE"}}, "give password_env"),
        (PravegaStreamComponent, {"streams": [], "connection": {"token": "{{ env.OF_CLUSTER }}"}}, "give token_env"),
        (PravegaStreamComponent, {"streams": [], "connection": {"password_env": "VALUE"}}, "in capitals"),
        (
            PravegaStreamComponent,
            {"streams": [], "connection": {"password_env": "{{ env.OF_CLUSTER }}"}},
            "not a value or a template",
        ),
        (PravegaStreamComponent, {"streams": [], "connection": {"token_source": "VALUE"}}, "give token_env"),
        (PravegaScopeComponent, {"scope": "shop", "schema_registry": {"password": "VALUE"}}, "give password_env"),
        (PravegaCdcComponent, CDC | {"database": {"dsn": "VALUE"}}, "give dsn_env"),
        (PravegaCdcComponent, CDC | {"store": {"secret_access_key": "VALUE"}}, "give secret_access_key_env"),
        (PravegaCdcComponent, CDC | {"store": {"options": {"sas_token": "VALUE"}}}, "give sas_token_env"),
        (PravegaCdcComponent, CDC | {"catalog": {"uri": "postgresql://u:VALUE@db/c"}}, "give uri_env"),
        (PravegaCdcComponent, CDC | {"catalog": {"properties": {"s3.access-key-id": "VALUE"}}}, "access-key-id_env"),
        (PravegaCdcComponent, CDC | {"spark": {"master": "sc://h/;token=VALUE"}}, "SPARK_CONNECT_AUTHENTICATE_TOKEN"),
        (PravegaCdcComponent, CDC | {"spark": {"spark_conf": {"a.secret.key": "VALUE"}}}, "spark-defaults.conf"),
        (PravegaCdcComponent, CDC | {"spark": {"options": {"password": "VALUE"}}}, "give password_env"),
        (
            PravegaStreamComponent,
            {"streams": [{"stream": "a/b", "options": {"schema_registry_token": "VALUE"}}]},
            "PRAVEGA_TOKEN",
        ),
    ],
)
def test_a_secret_as_text_is_refused_without_being_shown(component, attributes, way_out):
    attributes = with_secret(attributes)
    with pytest.raises(ValidationError) as refused:
        component.resolve_from_dict(attributes)
    assert way_out in str(refused.value)
    assert not any(secret in str(refused.value) for secret in SECRETS.values())
    schema = component.get_model_cls().model_json_schema()
    assert list(Draft202012Validator(schema).iter_errors(attributes)), "dg check yaml finds it"


def with_secret(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: with_secret(each) for name, each in value.items()}
    if isinstance(value, list):
        return [with_secret(each) for each in value]
    return value.replace("VALUE", SECRETS["OF_CLUSTER"]) if isinstance(value, str) else value


def test_a_secret_among_the_options_of_a_stream_is_refused_in_python():
    with pytest.raises(ConfigurationError, match="PRAVEGA_PASSWORD"):
        pravega_stream_spec("shop/orders", options={"schema_registry_password": "canary"})


def test_a_misspelled_field_of_a_resource_is_refused_without_its_value():
    kinds: tuple[Any, ...] = (
        *(PravegaResource, SchemaRegistryResource, LandingDatabase, PravegaSparkIOManager, PravegaArrowIOManager),
        *(IcebergCatalog, ObjectStore),
        *(RangeConfig, WriteConfig, CutBackfillConfig),
    )
    for make in kinds:
        with pytest.raises(ValidationError, match="pasword") as refused:
            make(pasword="canary")
        assert "canary" not in str(refused.value)

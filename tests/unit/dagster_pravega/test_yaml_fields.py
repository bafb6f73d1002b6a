"""Fields of components' files, checked by `dg check yaml` and by the code: types, templates, two clusters."""

from datetime import timedelta
from typing import Any

import dagster as dg
import pytest
import yaml  # type: ignore[import-untyped]  # it comes with Dagster, without types
from dagster.components.testing import create_defs_folder_sandbox
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # it comes with dg, without types
from pydantic import ValidationError
from tests.pages.blocks import blocks_of

from dagster_pravega import (
    PravegaCdcComponent,
    PravegaKeptTableComponent,
    PravegaScopeComponent,
    PravegaStreamComponent,
)

COMPONENTS = (PravegaCdcComponent, PravegaKeptTableComponent, PravegaScopeComponent, PravegaStreamComponent)
STREAM: dict[str, Any] = {"stream": "shop/orders"}
LAG: dict[str, Any] = {"consumer": "billing", "warn_bytes": "{{ env.BYTES }}", "warn_after": "{{ env.TIME }}"}
SENSOR: dict[str, Any] = {"name": "next", "consumer": "billing", "target": "key:bills"}
TABLES: dict[str, Any] = {"scope": "shop", "topic_prefix": "inv", "table": "delta:/lake/{name}"}
ORDERS: dict[str, Any] = {"name": "public.orders", "key_of_rows": ["id"]}


def load(component: Any, attributes: dict[str, Any]) -> Any:
    with create_defs_folder_sandbox() as sandbox:
        contents = {"type": f"dagster_pravega.{component.__name__}", "attributes": attributes}
        path = sandbox.scaffold_component(component, defs_yaml_contents=contents)
        with sandbox.load_component_and_build_defs(path) as (made, definitions):
            return made, definitions


def refusal(component: Any, attributes: dict[str, Any]) -> str:
    with pytest.raises(ValidationError) as refused:
        component.resolve_from_dict(attributes)
    return str(refused.value)


WRONG_STREAMS: list[tuple[dict[str, Any], str, str]] = [
    ({"observe_cron": "* * * *"}, "a schedule of cron", "not a schedule of cron"),
    ({"observe_cron": "61 * * * *"}, "a schedule of cron", "not a schedule of cron"),
    ({"stream": "orders"}, "'scope/stream, such as", "has no scope"),
    ({"cuts": {"start": "head"}}, "the text of a cut", "'head'"),
    ({"lag_checks": [{"consumer": "a", "warn_after": "soon"}]}, "a length of time: 90s", "is not a step in time"),
    ({"lag_checks": [{"consumer": "a", "warn_after": 30}]}, "is not of type 'string'", "is not a step in time"),
    ({"lag_checks": [{"consumer": "a", "warn_bytes": -1}]}, "less than the minimum", "greater than or equal to 0"),
    ({"cut_sensors": [SENSOR | {"since": "first"}]}, "is not one of ['last', 'latest']", "'last' or 'latest'"),
    ({"cut_sensors": [SENSOR | {"combine": "some"}]}, "is not one of ['all', 'any']", "'all' or 'any'"),
    ({"cut_sensors": [SENSOR | {"max_events": 0}]}, "less than the minimum", "greater than or equal to 1"),
    ({"freshness_policy": {"fail_after": "1mo"}}, "was expected", "a month has no fixed length"),
    ({"observ": True}, "'observ' was unexpected", "Did you mean observe?"),
    ({"automation_condition": "eager"}, "a template, such as", "instance of AutomationCondition"),
]
WRONG: list[tuple[type, dict[str, Any], str, str]] = [
    (PravegaStreamComponent, {"streams": [STREAM | more]}, by_schema, by_code)
    for more, by_schema, by_code in WRONG_STREAMS
] + [
    (
        PravegaStreamComponent,
        {"streams": [STREAM], "connection": {"controler_uri": "tcp://there:9090"}},
        "'controler_uri' was unexpected",
        "Did you mean controller_uri? The fields are username, password_env",
    ),
    (PravegaScopeComponent, {"scope": "shop", "schema_registry": {"url": "http://r"}}, "unexpected", "are username"),
    (PravegaCdcComponent, TABLES | {"tables": [ORDERS], "ghosts": "drop"}, "is not one of ['keep'", "'keep' or"),
    (PravegaCdcComponent, TABLES | {"tables": [ORDERS], "spark": {"mater": "local"}}, "unexpected", "mean master?"),
    (PravegaCdcComponent, TABLES | {"tables": [ORDERS | {"deps": 5}]}, "is not of type 'array'", "tables.0.deps"),
]


@pytest.mark.parametrize(("component", "attributes", "by_schema", "by_code"), WRONG)
def test_a_wrong_value_is_found_by_the_schema_and_by_the_code(component, attributes, by_schema, by_code):
    found = [each.message for each in Draft202012Validator(schema_of(component)).iter_errors(attributes)]
    assert any(by_schema in message for message in found), found
    assert by_code in refusal(component, attributes)


def schema_of(component: Any) -> Any:
    return component.get_model_cls().model_json_schema()


@pytest.mark.parametrize("component", COMPONENTS)
def test_every_field_of_a_file_is_described(component):
    schema = schema_of(component)
    Draft202012Validator.check_schema(schema)
    for of in (schema, *schema["$defs"].values()):
        for name, field in of.get("properties", {}).items():
            assert field.get("description"), f"{of.get('title')}.{name}"


def test_a_template_passes_the_schema_and_its_value_is_checked(monkeypatch):
    attributes = {
        "connection": {},
        "streams": [
            STREAM
            | {
                "observe": "{{ env.OBSERVE }}",
                "description": "{{ env.SHOP }} and more",
                "tags": {"year": "{{ env.YEAR }}"},
                "freshness_policy": "{{ dg.FreshnessPolicy.time_window(datetime.timedelta(hours=3)) }}",
                "automation_condition": "{{ dg.AutomationCondition.eager() }}",
                "lag_checks": [
                    {"consumer": "billing", "warn_bytes": "{{ env.BYTES }}", "warn_after": "{{ env.TIME }}"}
                ],
            }
        ],
    }
    assert list(Draft202012Validator(schema_of(PravegaStreamComponent)).iter_errors(attributes)) == []
    for name, value in {"OBSERVE": "true", "SHOP": "all", "YEAR": "2026", "BYTES": "7", "TIME": "2h"}.items():
        monkeypatch.setenv(name, value)
    made, definitions = load(PravegaStreamComponent, attributes)
    [stream] = made.streams
    [check] = stream.lag_checks
    assert (stream.observe, check.warn_bytes, check.warn_after.total_seconds()) == (True, 7, 7200)
    [spec] = definitions.resolve_all_asset_specs()
    assert spec.description == "all and more"
    assert spec.tags["year"] == "2026"
    assert spec.freshness_policy is not None
    monkeypatch.setenv("TIME", "soon")
    assert "is not a step in time" in refusal(PravegaStreamComponent, attributes)


def test_assets_of_files_have_the_attributes_of_python():
    attributes = {
        "kinds": ["bronze"],
        "owners": ["team:sales"],
        "tags": {"domain": "sales"},
        "deps": ["shop/customers"],
        "code_version": "3",
        "freshness_policy": {"fail_after": "6h", "warn_after": "1h"},
        "automation_condition": "{{ dg.AutomationCondition.eager() }}",
    }
    cuts = {"cuts": {"start": "earliest", "end": "latest"}}
    _, streams = load(PravegaStreamComponent, {"streams": [STREAM | attributes | cuts], "connection": {}})
    tables = TABLES | {
        "tables": [ORDERS | attributes | {"consumer": "mine", "retry_policy": {"max_retries": 2}}],
        "connection": {},
    }
    _, merged = load(PravegaCdcComponent, tables)
    specs = [spec for of in (streams, merged) for spec in of.resolve_all_asset_specs()]
    specs = [spec for spec in specs if spec.code_version == "3"]
    assert [spec.key.to_user_string() for spec in specs] == ["shop/orders", "public/orders"]
    for spec in specs:
        assert spec.kinds >= {"bronze"}
        assert (spec.owners, spec.tags["domain"]) == (["team:sales"], "sales")
        assert dg.AssetKey(["shop", "customers"]) in {dep.asset_key for dep in spec.deps}
        assert spec.freshness_policy == dg.FreshnessPolicy.time_window(
            fail_window=timedelta(hours=6), warn_window=timedelta(hours=1)
        )
        assert spec.automation_condition == dg.AutomationCondition.eager()
    assert specs[0].metadata["pravega/cuts"] == {"start": "earliest", "end": "latest"}


def test_two_clusters_of_one_project_share_no_key():
    sensors = [SENSOR | {"name": f"next_{name}", "partitions": f"of_{name}"} for name in ("asia", "europe")]
    made = []
    for name, sensor in zip(("asia", "europe"), sensors, strict=True):
        cluster = {
            "connection": {"controller_uri": f"tls://{name}:9090", "password_env": f"{name.upper()}_PASSWORD"},
            "resource_key": name,
        }
        lags = {"lag_checks": [{"consumer": "billing", "warn_bytes": 1}], "cut_sensors": [sensor], "observe": True}
        _, streams = load(PravegaStreamComponent, {"streams": [STREAM | lags], "key_prefix": [name]} | cluster)
        database = {"key_prefix": [name], "stream_key_prefix": [name], "warn_after": "1h"}
        _, tables = load(PravegaCdcComponent, TABLES | {"tables": [ORDERS]} | database | cluster)
        made += [streams, tables]
        component, _ = load(PravegaStreamComponent, {"streams": [], "resource_key": name})
        assert component.resource_key == name
    merged = dg.Definitions.merge(*made)
    assert set(merged.resources or {}) == {"asia", "asia_spark", "europe", "europe_spark"}
    keys = merged.resolve_asset_graph().get_all_asset_keys()
    assert {key.to_user_string() for key in keys} == {
        f"{name}/{rest}"
        for name in ("asia", "europe")
        for rest in ("shop/orders", "shop/inv.public.orders", "public/orders")
    }
    for name in ("asia", "europe"):
        resource = (merged.resources or {})[f"{name}_spark"].pravega
        assert resource.controller_uri == f"tls://{name}:9090"
        assert merged.resolve_sensor_def(f"next_{name}").required_resource_keys == {name}
    states = {
        PravegaScopeComponent(scope="shop", resource_key=name).defs_state_config.key for name in ("pravega", "europe")
    }
    assert len(states) == 2


def test_the_files_of_the_how_to_page_fit_into_one_project():
    files = [yaml.safe_load(block.code) for block in blocks_of("dagster-components") if block.language == "yml"]
    of_streams = [file["attributes"] for file in files if file["type"] == "dagster_pravega.PravegaStreamComponent"]
    for attributes in of_streams:
        assert list(Draft202012Validator(schema_of(PravegaStreamComponent)).iter_errors(attributes)) == []
    of_one, of_other, attributes = [load(PravegaStreamComponent, attributes)[1] for attributes in of_streams]
    both = dg.Definitions.merge(of_one, of_other)
    assert set(both.resources or {}) == {"pravega", "europe"}
    assert both.resolve_sensor_def("next_visits_of_europe").required_resource_keys == {"europe"}
    [spec] = attributes.resolve_all_asset_specs()
    assert spec.kinds == {"pravega", "bronze"}

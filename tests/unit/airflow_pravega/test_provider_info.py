import json
from importlib import import_module, metadata
from importlib.util import find_spec
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import airflow
import jsonschema  # type: ignore[import-untyped]  # it brings no types
import pytest
from airflow.providers_manager import ProvidersManager

from airflow_pravega import get_provider_info

INFO = get_provider_info()
KINDS = ("hooks", "operators", "sensors", "triggers")
TASKS = "airflow.sdk.providers_manager_runtime"


def known_to_tasks() -> Any:
    """What tasks know of providers; up to Airflow 3.1 they ask what all processes ask."""
    return import_module(TASKS).ProvidersManagerTaskRuntime() if find_spec(TASKS) else ProvidersManager()


def test_fits_the_schema_that_airflow_checks():
    schema = json.loads((Path(airflow.__file__).parent / "provider_info.schema.json").read_text())
    jsonschema.validate(INFO, schema)


def test_is_plain_json():
    assert json.loads(json.dumps(INFO)) == INFO


def test_names_the_distribution_that_brings_it():
    (entry,) = (
        entry
        for entry in metadata.entry_points(group="apache_airflow_provider")
        if entry.value == "airflow_pravega:get_provider_info"
    )
    assert entry.dist is not None
    assert entry.dist.name == INFO["package-name"]


@pytest.mark.parametrize("name", [name for kind in KINDS for part in INFO[kind] for name in part["python-modules"]])
def test_names_modules_that_can_be_imported(name: str):
    import_module(name)


def test_names_a_hook_and_a_handler_that_exist():
    (connection,) = INFO["connection-types"]
    hook = resolve_name(connection["hook-class-name"])
    assert hook.conn_type == connection["connection-type"]
    (assets,) = INFO["asset-uris"]
    assert assets["schemes"] == ["pravega"]
    assert callable(resolve_name(assets["handler"]))
    made = known_to_tasks().asset_factories["pravega"](scope="examples", stream="flights", extra={"by": "ada"})
    assert (made.uri, made.extra) == ("pravega://examples/flights", {"by": "ada"})


def test_names_guides_and_a_version_that_exist():
    (integration,) = INFO["integrations"]
    root = Path(__file__).parents[3]
    assert [name for name in integration["how-to-guide"] if not (root / name.removeprefix("/")).is_file()] == []
    assert INFO["versions"] == [metadata.version(INFO["package-name"])]


def test_names_a_queue_and_a_decorator_that_exist():
    assert set(INFO["queues"]) <= set(ProvidersManager().queue_class_names)
    decorators = known_to_tasks().taskflow_decorators
    for decorator in INFO["task-decorators"]:
        assert decorators[decorator["name"]] is resolve_name(decorator["class-name"])


def test_names_links_and_a_converter_to_openlineage_that_exist():
    assert set(INFO["extra-links"]) <= set(ProvidersManager().extra_links_class_names)
    (assets,) = INFO["asset-uris"]
    converters = known_to_tasks().asset_to_openlineage_converters
    assert converters["pravega"] is resolve_name(assets["to_openlineage_converter"])


def test_airflow_shows_the_connection_form():
    manager = ProvidersManager()
    fields = {
        name.removeprefix("extra__pravega__"): widget
        for name, widget in manager.connection_form_widgets.items()
        if name.startswith("extra__pravega__")
    }
    assert {"tls", "ca_file", "verify_hostname", "token", "scope", "spark_master"} <= fields.keys()
    assert [name for name, widget in fields.items() if widget.is_sensitive] == ["token"]
    assert manager.field_behaviours["pravega"]["relabeling"]["host"] == "Controller host"


def test_a_connection_finds_its_hook():
    hook = known_to_tasks().hooks["pravega"]
    assert hook is not None
    assert hook.hook_class_name == "airflow_pravega.hooks.pravega.PravegaHook"
    assert hook.connection_testable

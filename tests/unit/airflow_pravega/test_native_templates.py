"""Templated texts of all operators and sensors, in DAGs that render native Python values: a number is its text."""

import inspect
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib import import_module
from typing import Any, get_args, get_origin

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.sdk import DAG, BaseOperator, task

from airflow_pravega.operators.events import PravegaWriteEventsOperator
from airflow_pravega.operators.spark import PravegaSparkReadOperator
from airflow_pravega.operators.stream_cut import PravegaFinishRangeOperator
from airflow_pravega.provider_info import get_provider_info
from airflow_pravega.sensors.event_time import PravegaEventTimeSensor
from airflow_pravega.tasks.templates import TemplatedTexts, argument_kinds

VALUES: Any = {"day": 20260105, "half": 0.5, "many": ["a"], "flag": True, "at": datetime(2026, 1, 5, tzinfo=UTC)}
# Arguments that an operator needs; texts and lists of texts beside them.
NEEDED: dict[str, Any] = {
    "stream_cuts": {"start": "UNBOUNDED", "end": "UNBOUNDED"},
    "table": "delta:/nowhere",
    "key": ["id"],
    "add": ["sales"],
    "remove": [],
    "parts": 2,
    "cut": "latest",
    "segments": 2,
    "events": [],
    "transaction": "a9b4f3a0-0000-4000-8000-000000000000",
    "every": "1d",
    "settings": "application.properties",
    "max_lag_bytes": 0,
    "tags": ["sales"],
    "source": "/nowhere",
    "streams": ["examples/flights"],
}


def operators() -> list[type[BaseOperator]]:
    """All operators and sensors that the provider names."""
    info = get_provider_info()
    modules = [name for kind in ("operators", "sensors") for each in info[kind] for name in each["python-modules"]]
    found = {
        kind.__name__: kind
        for name in modules
        for kind in vars(import_module(name)).values()
        if inspect.isclass(kind) and issubclass(kind, BaseOperator) and kind.__module__ == name
    }
    return [kind for name, kind in sorted(found.items()) if name.startswith("Pravega")]


def made(kind: type[BaseOperator]) -> BaseOperator:
    needed = {}
    for each in inspect.getmro(kind):
        if each.__module__.startswith("airflow_pravega") and "__init__" in vars(each):
            for name, parameter in inspect.signature(vars(each)["__init__"]).parameters.items():
                if parameter.default is parameter.empty and parameter.kind is parameter.KEYWORD_ONLY:
                    needed[name] = NEEDED.get(name, "examples")
    if kind.__name__ == "PravegaUpdateStreamOperator":
        needed["tags"] = ["sales"]
    if kind.__name__ == "PravegaLagCheckOperator":
        needed["max_time"] = "6h"
    if kind.__name__ == "PravegaEventSensor":
        needed["where"] = "$"
    if kind.__name__ == "PravegaRebuildDecisionOperator":
        needed["write_id"] = "totals"
    # Their names stand for the stream; beside a topic, the group is one of Kafka.
    if {"group", "streams"} & needed.keys() and "topic" not in needed:
        needed.pop("stream", None)
    with DAG("dag", render_template_as_native_obj=True):
        return kind(task_id="task", **needed)


def rendered(operator: Any, **fields: Any) -> Any:
    for name, value in fields.items():
        setattr(operator, name, value)
    operator.template_fields = tuple(fields)
    operator.render_template_fields(VALUES)
    return operator


def members(kind: Any) -> list[Any]:
    return list(get_args(kind)) if get_origin(kind) not in (Mapping, Sequence, Iterable, None) else [kind]


@pytest.mark.parametrize("kind", operators(), ids=lambda kind: kind.__name__)
def test_a_number_is_its_text_in_every_templated_text(kind):
    fields = [name for name in kind.template_fields if name in argument_kinds(kind)]
    assert set(kind.template_fields) - set(fields) <= _fields_of_others(kind)
    operator: Any = made(kind)
    for name in fields:
        kinds = members(argument_kinds(kind)[name])
        if str in kinds and int not in kinds:
            assert getattr(rendered(operator, **{name: "{{ day }}"}), name) == "20260105"
            assert getattr(rendered(operator, **{name: "a{{ day }}"}), name) == "a20260105"
            assert getattr(rendered(operator, **{name: 5}), name) == "5"
            with pytest.raises(AirflowFailException, match=f"{name} is of type bool, but must be a text"):
                rendered(operator, **{name: "{{ flag }}"})
        if any(get_origin(each) in (Sequence, Iterable) for each in kinds):
            assert getattr(rendered(operator, **{name: ["{{ day }}", 5]}), name) == ["20260105", "5"]
        if any(get_origin(each) is Mapping for each in kinds):
            assert getattr(rendered(operator, **{name: {"a": "{{ day }}"}}), name) == {"a": "20260105"}


def _fields_of_others(kind: type[BaseOperator]) -> set[str]:
    """Templated fields of the class of Airflow's provider of Spark, from which one operator derives."""
    return {name for each in inspect.getmro(kind)[1:] if "Pravega" not in each.__name__ for name in _fields(each)}


def _fields(kind: type) -> Iterable[str]:
    return getattr(kind, "template_fields", ()) if kind.__module__.startswith("airflow.providers") else ()


@pytest.mark.parametrize("kind", operators(), ids=lambda kind: kind.__name__)
def test_pages_of_airflow_show_all_operators_alike(kind):
    assert kind.ui_color == TemplatedTexts.ui_color
    shown = {name for name, how in kind.template_fields_renderers.items() if how == "json"}
    assert {"stream_cuts", "options", "spark_conf", "events", "tags"} & set(kind.template_fields) <= shown


def test_what_python_reads_in_a_text_stays_the_text():
    operator: Any = made(PravegaWriteEventsOperator)
    for text in ("2026_01", "007", "1e3", "'quoted'", "True", '["a"]', "0x10"):
        assert rendered(operator, write_id=text).write_id == text


def test_other_values_stay_where_an_argument_may_be_one():
    operator: Any = made(PravegaWriteEventsOperator)
    rendered(operator, events=["{{ day }}", {"id": 5}, "{{ many }}"], routing_keys="{{ many }}", write_id=None)
    assert (operator.events, operator.routing_keys) == (["20260105", {"id": 5}, ["a"]], ["a"])
    assert operator.write_id is None
    sensor = rendered(made(PravegaEventTimeSensor), since="{{ at }}", until="{{ day }}")
    assert (sensor.since, sensor.until) == (VALUES["at"], "20260105")
    read = rendered(made(PravegaSparkReadOperator), options={"decode": "json", "large": True})
    assert read.options == {"decode": "json", "large": "true"}
    cuts = {"start": "a", "end": "b", "interval": 20260105, "events": ["x"]}
    done = rendered(made(PravegaFinishRangeOperator), stream_cuts=cuts)
    assert done.stream_cuts == cuts | {"interval": "20260105"}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"write_id": "{{ many }}"}, "write_id is of type list"),
        ({"write_id": "{{ at }}"}, "write_id is of type DateTime|write_id is of type datetime"),
        ({"routing_keys": ["a", "{{ flag }}"]}, r"routing_keys\[1\] is of type bool"),
        ({"stream": "{{ none }}"}, "stream is of type NoneType"),
    ],
)
def test_another_type_is_refused_by_name_and_not_tried_again(fields, message):
    with pytest.raises(AirflowFailException, match=f"ConfigurationError: ({message}), but must be a text"):
        rendered(made(PravegaWriteEventsOperator), **fields)


def count(events):
    return events.count()


def test_mapped_operators_and_functions_have_the_same_rule():
    with DAG("dag", render_template_as_native_obj=True):
        called: Any = PravegaWriteEventsOperator.partial(task_id="mapped", events=[]).expand(stream=["{{ day }}"])
        decorated: Any = task.pravega_spark(stream="web/visits", write_id="{{ day }}", into="web/counts")(count)
    assert isinstance(decorated([]).operator, TemplatedTexts)
    unmapped = called.unmap({"stream": "{{ day }}"})
    unmapped.render_template_fields(VALUES)
    assert unmapped.stream == "20260105"

"""Options of the tables of a scope: by the registry, by a default format, or the bytes of the events."""

from typing import Any

import pytest
from pyspark.errors import PySparkException

from aiopravega import StreamName
from aiopravega.errors import ConfigurationError, PermissionDeniedError
from pyspark_pravega.catalog import _typed_if_possible, register_scope

STREAM = StreamName("examples", "orders")
REGISTRY = {"schema_registry_uri": "http://registry:9092"}
NO_SESSION: Any = None  # options are checked before a session is used
JSON = {"decode": "json", "columns": "id long"}


def made_with(options, default, registry_says=None):
    """The options of the tables that are tried, and whether the last one is typed."""
    tried = []

    def make(chosen):
        tried.append(dict(chosen))
        if chosen.get("decode") == "auto" and registry_says:
            raise PySparkException(f"Traceback (most recent call last):\naiopravega.errors.{registry_says}: no")

    return tried, _typed_if_possible(STREAM, options, default, make)


def test_streams_that_no_registry_knows_have_the_default_format():
    auto = {**REGISTRY, "decode": "auto"}

    assert made_with({}, {}) == ([{}], False)
    assert made_with({}, JSON) == ([JSON], True)
    assert made_with({}, {"decode": "raw"}) == ([{"decode": "raw"}], False)
    assert made_with(REGISTRY, JSON) == ([auto], True)
    assert made_with(REGISTRY, JSON, "GroupNotFoundError") == ([auto, JSON], True)


def test_a_group_without_columns_keeps_the_bytes_of_its_events():
    assert made_with(REGISTRY, JSON, "ConfigurationError") == ([{**REGISTRY, "decode": "auto"}, {}], False)
    with pytest.raises(PermissionDeniedError):
        made_with(REGISTRY, JSON, "PermissionDeniedError")


@pytest.mark.parametrize(
    ("options", "default", "said"),
    [
        ({}, {"columns": "id long"}, "it needs decode"),
        ({"Decode": "json"}, {"decode": "json"}, "must not have decode"),
        ({}, {**JSON, "Stream": "orders"}, "'stream' is of one read"),
    ],
)
def test_a_default_format_that_cannot_work_is_refused(options, default, said):
    with pytest.raises(ConfigurationError, match=said):
        register_scope(NO_SESSION, "examples", default=default, **options)

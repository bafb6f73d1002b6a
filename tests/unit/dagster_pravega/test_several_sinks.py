"""Sinks that cannot work are refused by name when the assets are loaded."""

from typing import Any

import dagster as dg
import pytest

from aiopravega.errors import ConfigurationError
from dagster_pravega import build_several_sinks

DAYS = dg.DailyPartitionsDefinition(start_date="2026-01-01")


@pytest.mark.parametrize(
    ("into", "given", "says"),
    [
        ({"a": "parquet:/orders"}, {}, "must name at least one stream"),
        ({"a": "shop/a", "b": "shop/a"}, {}, "and each sink once"),
        ({"a": "shop/a", "b": "b"}, {}, "b"),
        ({"a": "shop/a", "b": "parquet:/b"}, {"divide": "region"}, "divides rows among streams, and into has tables"),
        ({"a": "shop/a"}, {"output_options": {"errors": "stream:shop/dead"}}, "give it as an argument of its own"),
        ({"a": "shop/a"}, {"most_errors": 1}, "errors"),
        ({"a": "shop/a"}, {"divide": "region", "errors_of": "a"}, "must be a name of into, beside errors and a column"),
        ({"a": "shop/a"}, {"errors": "delta:/dead"}, "stream"),
        ({"a": "shop/a"}, {"since": "yesterday"}, "must be one of last, latest"),
        ({"a": "shop/a"}, {"since": "last", "partitions_def": DAYS}, "both partitions_def and since"),
    ],
)
def test_sinks_that_cannot_work_are_refused_when_they_are_loaded(into, given, says):
    with pytest.raises(ConfigurationError, match=says):
        build_several_sinks("rides", given.pop("divide", dict), name="split", into=into, **given)


def test_a_parameter_whose_type_is_not_there_is_refused_by_name():
    def divide(orders: Any) -> dict[str, Any]:
        return {"a": orders}

    divide.__annotations__["orders"] = "Unknown"  # as after an import under TYPE_CHECKING
    with pytest.raises(ConfigurationError, match="'Unknown' is not defined.: import it, and not for type checkers"):
        build_several_sinks("rides", divide, name="split", into={"a": "shop/a"})

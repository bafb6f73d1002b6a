"""Checks that cannot work are refused when they are defined; columns are compared by the names of each engine."""

from datetime import timedelta
from functools import partial

import dagster as dg
import pyarrow as pa
import pytest
from packaging.version import Version
from pyspark.sql.pandas.types import from_arrow_type

from aiopravega.errors import ConfigurationError
from aiopravega.schema.arrow.sql_columns import sql_type
from dagster_pravega import (
    build_decode_errors_check,
    build_observed_stream,
    build_row_count_check,
    build_schema_drift_check,
    build_stream_freshness_check,
    pravega_stream_spec,
)
from dagster_pravega.metadata.columns import SCHEMA_KEY, arrow_schema
from dagster_pravega.tables.drift import registry_drift

SPEC = pravega_stream_spec("shop/orders", options={"decode": "json"})


@pytest.mark.parametrize(
    ("build", "arguments", "message"),
    [
        (build_stream_freshness_check, {}, "give warn_after or error_after"),
        (build_stream_freshness_check, {"warn_after": timedelta(1), "unit": "hours"}, "is not a unit of event times"),
        (build_row_count_check, {}, "give min_rows or max_rows"),
        (build_row_count_check, {"min_rows": 0}, "give min_rows or max_rows"),
        (build_row_count_check, {"min_rows": 5, "max_rows": 4}, "no number of rows is within them"),
        (build_row_count_check, {"min_rows": -1}, "no number of rows is within them"),
        (build_decode_errors_check, {}, "give warn_errors or error_errors"),
        (build_decode_errors_check, {"warn_errors": 0, "sample": 0}, "a sample of 0 events is empty"),
        (build_decode_errors_check, {"warn_errors": 0, "options": {"hope": "1"}}, "has no option 'hope'"),
        (build_schema_drift_check, {"stream": "orders"}, "has no scope"),
    ],
)
def test_a_check_that_cannot_work_is_refused(build, arguments, message):
    with pytest.raises(ConfigurationError, match=message):
        build(SPEC, **{"stream": "shop/orders", **arguments})


def test_a_key_with_a_dot_is_checked_or_refused_with_the_ways_out():
    dotted = pravega_stream_spec("shop/inv.public.orders")
    plain = pravega_stream_spec("shop/inv.public.orders", key=["shop", "inv_public_orders"])
    build = partial(build_row_count_check, stream="shop/inv.public.orders", min_rows=1)
    checks = [build(plain)]
    if Version(dg.__version__) < Version("1.13.4"):
        with pytest.raises(
            ConfigurationError, match=r"update Dagster to 1\.13\.4 or newer, or give .*inv_public_orders"
        ):
            build(dotted)
    else:
        checks.append(build(dotted, name="of_dots"))
    resources = {"pravega": dg.ResourceDefinition.none_resource()}
    dg.Definitions.validate_loadable(dg.Definitions([dotted, plain], asset_checks=checks, resources=resources))


def test_the_checks_are_named_apart():
    checks = [
        build_stream_freshness_check(SPEC, stream="shop/orders", warn_after=timedelta(1)),
        build_row_count_check(SPEC, stream="shop/orders", min_rows=1),
        build_decode_errors_check(SPEC, stream="shop/orders", error_errors=0, schema_registry_key="registry"),
        build_schema_drift_check(SPEC, stream="shop/orders", schema_registry_key="registry"),
    ]
    resources = {name: dg.ResourceDefinition.none_resource() for name in ("pravega", "registry")}
    dg.Definitions.validate_loadable(dg.Definitions([SPEC], asset_checks=checks, resources=resources))


def test_a_freshness_policy_stays_with_the_stream_and_its_observation():
    policy = dg.FreshnessPolicy.time_window(fail_window=timedelta(hours=1))
    spec = pravega_stream_spec("shop/orders", freshness_policy=policy)
    assert spec.freshness_policy == policy
    assert build_observed_stream(spec).specs_by_key[spec.key].freshness_policy == policy


@pytest.mark.parametrize(
    "kind",
    [
        *(pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.string()),
        *(pa.binary(), pa.date32(), pa.timestamp("us"), pa.timestamp("us", "UTC"), pa.decimal128(12, 3)),
        pa.list_(pa.struct([("a", pa.int64()), ("b", pa.list_(pa.string()))])),
        pa.map_(pa.string(), pa.decimal128(5, 0)),
    ],
)
def test_a_type_has_the_name_that_spark_has_for_it(kind):
    assert sql_type(kind) == from_arrow_type(kind, prefer_timestamp_ntz=True).simpleString()


def test_columns_are_compared_by_name_and_type():
    def columns(**kinds):
        return arrow_schema(pa.schema(list(kinds.items())))[SCHEMA_KEY].value

    registry = pa.schema([("id", pa.int64()), ("name", pa.string()), ("tags", pa.list_(pa.string()))])
    large = pa.large_list(pa.large_string())
    assert registry_drift(registry, columns(id=pa.int64(), name=pa.large_string(), tags=large), ()) == []
    found = registry_drift(registry, columns(id=pa.int32(), name=pa.string(), total=pa.int64()), ())
    assert [(each.name, each.drift.name) for each in found] == [("id", "TYPE"), ("tags", "NEW"), ("total", "MISSING")]
    assert (
        registry_drift(registry, columns(id=pa.int32(), name=pa.string(), total=pa.int64()), ("id", "tags", "total"))
        == []
    )

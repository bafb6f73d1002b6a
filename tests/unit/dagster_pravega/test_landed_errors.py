"""The check of the errors of a landed table, over tables of files."""

import dagster as dg
import pyarrow as pa
import pytest
from tests.unit.pravega_jobs.test_error_rows import CUTS

from aiopravega.errors import ConfigurationError
from dagster_pravega import build_landed_errors_check
from pravega_jobs.error_rows import ERROR_TYPE
from pravega_jobs.landing import land


@dg.asset
def orders() -> None: ...


def judged(table: str, errors: str, warn: int, error: int | None = None) -> dg.AssetCheckEvaluation:
    check = build_landed_errors_check(orders, table=table, errors=errors, warn_errors=warn, error_errors=error)
    result = dg.materialize([orders, check])
    [evaluation] = result.get_asset_check_evaluations()
    return evaluation


def test_errors_are_counted_held_to_limits_and_missed(tmp_path):
    table, errors = f"parquet:{tmp_path}/orders", f"parquet:{tmp_path}/orders_errors"
    bad = [None, {"event": b"x", "pointer": "one"}, {"event": b"y", "pointer": "two"}]
    rows = pa.table({"id": [1, None, None], "_error": pa.array(bad, ERROR_TYPE)})
    land(rows, table, CUTS, consumer="lake", interval="monday", errors=errors)

    fine = judged(table, errors, 2)
    assert (fine.passed, fine.metadata["pravega/errors"].value) == (True, 2)
    warned = judged(table, errors, 1, 2)
    assert (warned.passed, warned.severity) == (False, dg.AssetCheckSeverity.WARN)

    for file in (tmp_path / "orders_errors").glob("landing=*/*.parquet"):
        file.unlink()
    missed = judged(table, errors, 9)
    assert (missed.passed, missed.severity) == (False, dg.AssetCheckSeverity.ERROR)
    assert "errors of 1 landings are missing there, such as of 'monday'" in str(missed.description)


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({}, "give warn_errors or error_errors"),
        ({"warn_errors": 0, "table": "orders"}, "what kind of table"),
        ({"warn_errors": 0, "errors": "stream:errors"}, "has no scope"),
    ],
)
def test_a_check_that_cannot_work_is_refused(given, complaint):
    with pytest.raises(ConfigurationError, match=complaint):
        build_landed_errors_check(orders, **{"table": "parquet:/orders", "errors": "parquet:/errors", **given})


@pytest.mark.parametrize(("errors", "needed"), [("parquet:/errors", False), ("stream:shop/errors", True)])
def test_a_check_of_an_errors_stream_needs_the_cluster(errors, needed):
    check = build_landed_errors_check(orders, table="parquet:/orders", errors=errors, warn_errors=0)
    assert ("pravega" in check.required_resource_keys) == needed

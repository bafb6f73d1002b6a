"""The check and the sensor of the errors of a landed table, over tables of files."""

from typing import Any

import dagster as dg
import pyarrow as pa
import pytest
from tests.unit.pravega_jobs.test_error_rows import CUTS

from aiopravega.errors import ConfigurationError
from dagster_pravega import build_errors_sensor, build_landed_errors_check
from pravega_jobs.error_rows import ERROR_TYPE
from pravega_jobs.landing import ErrorsCount, ErrorsState, IntervalErrors, land
from pravega_jobs.landing.errors import errors_sink_of


@dg.asset
def orders() -> None: ...


def judged(table: str, errors: str, warn: int, error: int | None = None) -> dg.AssetCheckEvaluation:
    check = build_landed_errors_check(orders, table=table, errors=errors, warn_errors=warn, error_errors=error)
    result = dg.materialize([orders, check])
    [evaluation] = result.get_asset_check_evaluations()
    return evaluation


@dg.job
def alert() -> None: ...


def landed(table: str, interval: str, errors: str, *pointers: str) -> None:
    bad = [None, *({"event": b"x", "pointer": each, "reason": "no json"} for each in pointers)]
    rows = pa.table({"id": [1, *(None for _ in pointers)], "_error": pa.array(bad, ERROR_TYPE)})
    land(rows, table, CUTS, consumer="lake", interval=interval, errors=errors, event_times=True)


def sample_of(event: Any) -> list[dict[str, str]]:
    return [record.data for record in event.metadata["pravega/errors_sample"].value.records]


def test_errors_are_counted_held_to_limits_and_missed(tmp_path):
    table, errors = f"parquet:{tmp_path}/orders", f"parquet:{tmp_path}/orders_errors"
    landed(table, "monday", errors, "one", "two")
    fine = judged(table, errors, 2)
    assert (fine.passed, fine.metadata["pravega/errors"].value) == (True, 2)
    warned = judged(table, errors, 1, 2)
    assert (warned.passed, warned.severity) == (False, dg.AssetCheckSeverity.WARN)
    assert sample_of(warned) == [
        {"interval": "monday", "pointer": each, "reason": "no json"} for each in ("one", "two")
    ]

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


def test_a_run_is_requested_once_for_the_errors_that_wait(tmp_path):
    table, errors = f"parquet:{tmp_path}/orders", f"parquet:{tmp_path}/orders_errors"
    sensor = build_errors_sensor("letters", table=table, errors=errors, target=alert, at_least=2, asset=orders)

    def tick(cursor: str | None) -> Any:
        with dg.build_sensor_context(cursor=cursor) as context:
            return sensor.evaluate_tick(context)

    landed(table, "monday", errors, "one")
    assert "1 events of parquet:" in str(tick(None).skip_message)
    landed(table, "tuesday", errors, "two")
    first = tick(None)
    [request] = first.run_requests
    tags = {name: value for name, value in request.tags.items() if name.startswith("pravega/")}
    assert tags == {"pravega/table": table, "pravega/errors": "2", "pravega/first_error": "two: no json"}
    [observation] = first.asset_events
    assert observation.metadata["pravega/errors"].value == 2
    assert [each["pointer"] for each in sample_of(observation)] == ["two", "one"]
    assert "the same as at the last run" in str(tick(first.cursor).skip_message)

    landed(table, "wednesday", errors, "three")
    second = tick(first.cursor)
    assert [each.tags["pravega/errors"] for each in second.run_requests] == ["3"]
    # A person who resets the cursor gets a run again, also for the same errors.
    [again] = tick(None).run_requests
    assert again.run_key is None


def test_errors_that_retention_removes_request_one_run_at_most(tmp_path):
    sink = errors_sink_of(f"parquet:{tmp_path}/errors")
    whole, some, none = (
        ErrorsCount([IntervalErrors("etl", "monday", 1, "errors", state, 4, found, None, sink)])
        for found, state in ((4, ErrorsState.COUNTED), (3, ErrorsState.MISSING), (0, ErrorsState.MISSING))
    )
    assert whole.state != some.state == none.state


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"errors": None}, "are in a table or a stream: give errors"),
        ({"at_least": 0}, "at_least is 0, but must be at least 1"),
        ({"table": "orders"}, "what kind of table"),
    ],
)
def test_a_sensor_that_cannot_work_is_refused(given, complaint):
    with pytest.raises(ConfigurationError, match=complaint):
        build_errors_sensor(
            "letters", **{"table": "parquet:/orders", "errors": "parquet:/errors", "target": alert, **given}
        )


def test_a_sensor_of_a_stream_of_rows_needs_the_cluster_alone():
    sensor = build_errors_sensor("letters", table="stream:shop/orders", target=alert)
    assert sensor.required_resource_keys == {"pravega"}

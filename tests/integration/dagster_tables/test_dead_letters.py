"""Dead letters of assets that are written to a stream: by one decision, in metadata, and judged by the check."""

import json
from typing import Any

import dagster as dg
import polars as pl
import pytest
from tests.pages.blocks import block_with

from aiopravega import StreamName
from dagster_pravega import PravegaResource, build_landed_errors_check, pravega_stream_spec

OPTIONS = {"decode": "json", "columns": "id long", "on_error": "dead", "missing_fields": "fail"}


@pytest.fixture
def dead(client, scope) -> StreamName:
    assert client.create_stream(f"{scope}/dead")
    return StreamName(scope, "dead")


@pytest.fixture
def materialize(stream, sink, dead, manager, instance, client):
    """Materializes the orders that can be decoded, with the check of the errors."""
    with client.writer(stream) as writer:
        writer.write_many([b'{"id": %d}' % number for number in range(5)])
        writer.write_many([b"no json", b'{"other": 1}'])
    spec = pravega_stream_spec(str(stream), options=OPTIONS)

    def materialize(most_errors: str = "50%") -> Any:
        options = {"errors": f"stream:{dead}", "most_errors": most_errors}

        @dg.asset(
            name="clean",
            ins={"rides": dg.AssetIn(spec.key, input_manager_key="tables")},
            io_manager_key="tables",
            metadata={"pravega/stream": str(sink), "pravega/options": options},
        )
        def clean(rides: pl.LazyFrame) -> pl.LazyFrame:
            return rides

        check = build_landed_errors_check(
            clean, table=f"stream:{sink}", errors=f"stream:{dead}", warn_errors=1, error_errors=10
        )
        resources = {"tables": manager, "pravega": PravegaResource(controller_uri=client.config.controller_uri)}
        return dg.materialize(
            [spec, clean, check], selection=["clean"], resources=resources, instance=instance, raise_on_error=False
        )

    return materialize


def test_letters_are_counted_in_metadata_and_judged_by_the_check(materialize, contents, sink, dead):
    done = materialize()
    assert done.success
    [event] = done.get_asset_materialization_events()
    metadata = {name: entry.value for name, entry in event.materialization.metadata.items()}
    assert (metadata["pravega/events"], metadata["pravega/errors"]) == (5, 2)
    assert metadata["pravega/errors_table"] == f"stream:{dead}"
    assert ": cannot be decoded as Json" in metadata["pravega/first_error"]
    assert contents(sink) == [f'{{"id":{number}}}' for number in range(5)]
    assert sorted(json.loads(each)["reason"][:10] for each in contents(dead)) == ["cannot be "] * 2
    [judged] = done.get_asset_check_evaluations()
    assert (judged.passed, judged.severity) == (False, dg.AssetCheckSeverity.WARN)
    assert judged.description == "2 events are errors"


def test_more_letters_than_allowed_fail_the_asset_and_leave_nothing(materialize, contents, sink, dead):
    done = materialize("1%")
    assert not done.success
    [failure] = done.get_step_failure_events()
    assert "most_errors is 1%" in str(failure.step_failure_data.user_failure_data or failure.step_failure_data.error)
    assert contents(sink) == contents(dead) == []


def test_letters_request_a_run_until_it_has_mended_what_it_can(
    materialize, sink, pravega_config, contents, monkeypatch
):
    """By the definitions of the page dead-letters."""
    code = block_with("dead-letters", "build_errors_sensor(").code
    page = code.replace("examples/clean", str(sink)).replace("long, price double", "long")
    namespace: dict[str, Any] = {}
    exec(page.replace('StreamName("examples", "clean")', f'StreamName("{sink.scope}", "{sink.stream}")'), namespace)
    monkeypatch.setenv("PRAVEGA_CONTROLLER_URI", pravega_config.controller_uri)
    whole = namespace["definitions"]
    sensor, mend = whole.resolve_sensor_def("mend_clean"), whole.resolve_job_def("mend")

    def tick(cursor: str | None) -> Any:
        with dg.build_sensor_context(cursor=cursor, resources={"pravega": PravegaResource()}) as context:
            return sensor.evaluate_tick(context)

    assert "0 events of stream:" in str(tick(None).skip_message)
    materialize()
    found = tick(None)
    [request] = found.run_requests
    assert request.tags["pravega/errors"] == "2"
    assert ": cannot be decoded as Json" in request.tags["pravega/first_error"]
    assert whole.resolve_job_def("alert").execute_in_process(tags=request.tags).success

    assert mend.execute_in_process(tags=request.tags).success
    assert len(contents(sink)) == 6  # missing fields are null now
    again = tick(found.cursor)
    assert [each.tags["pravega/errors"] for each in again.run_requests] == ["1"]
    assert mend.execute_in_process().success
    assert "the same as at the last run" in str(tick(again.cursor).skip_message)

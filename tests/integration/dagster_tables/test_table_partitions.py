"""Partitions of tables: days of event times have the rows of their times, also when another IO manager writes them."""

from typing import Any

import dagster as dg
import pyarrow as pa
import pytest
from tests.integration.dagster_pravega.days import DAYS, HOURS, OPTIONS, at, key, write_days

from dagster_pravega import PravegaArrowIOManager, PravegaResource, StreamBatches, pravega_stream_spec


@pytest.fixture
def timed(client, scope):
    return write_days(client, scope)


def test_a_day_is_done_when_another_manager_has_written_its_rows(
    timed, sink, manager, instance, contents, client, pravega_config
):
    spec = pravega_stream_spec(str(timed), options=OPTIONS)
    other = PravegaArrowIOManager(pravega=PravegaResource(controller_uri=pravega_config.controller_uri))

    @dg.asset(
        partitions_def=DAYS,
        ins={"events": dg.AssetIn(spec.key, input_manager_key="tables")},
        io_manager_key="others",
        metadata={"pravega/stream": str(sink)},
    )
    def day(events: pa.RecordBatchReader) -> pa.RecordBatchReader:
        return events

    result = dg.materialize(
        [spec, day],
        selection=[day],
        resources={"tables": manager, "others": other},
        partition_key=key(2),
        instance=instance,
    )

    assert contents(sink) == sorted(f'{{"at":{at(2, hour)}}}' for hour in HOURS)
    [record] = client.cut_ledger(timed.scope).records("dagster/day", timed)
    assert record.is_done
    [event] = result.get_asset_materialization_events()
    metadata: dict[str, Any] = {name: entry.value for name, entry in event.materialization.metadata.items()}
    assert metadata["pravega/consumer"] == "dagster/day"
    assert metadata["pravega/event_times"]["since"] == "2013-01-02T00:00:00+00:00"
    assert metadata["pravega/watermarks"]["upper"] == "2013-01-04T00:00:00+00:00"
    assert metadata["dagster/partition_row_count"] == len(HOURS)


def test_days_of_one_run_have_the_rows_of_all_their_times(timed, manager, instance):
    spec = pravega_stream_spec(str(timed), options=OPTIONS)
    found: list[int] = []

    @dg.asset(
        partitions_def=DAYS,
        backfill_policy=dg.BackfillPolicy.single_run(),
        ins={"events": dg.AssetIn(spec.key, input_manager_key="tables")},
    )
    def days(events: StreamBatches) -> dg.MaterializeResult[None]:
        found.extend(events.reader.read_all().column("at").to_pylist())
        return events.done()

    tags = {"dagster/asset_partition_range_start": key(1), "dagster/asset_partition_range_end": key(2)}
    assert dg.materialize(
        [spec, days], selection=[days], resources={"tables": manager}, instance=instance, tags=tags
    ).success
    assert sorted(found) == [at(day, hour) for day in (1, 2) for hour in HOURS]


def test_days_of_another_dimension_are_read_by_time_and_done_separately(timed, manager, instance, client):
    spec = pravega_stream_spec(str(timed), options=OPTIONS)
    found: list[int] = []

    @dg.asset(
        partitions_def=dg.MultiPartitionsDefinition({"day": DAYS, "half": dg.StaticPartitionsDefinition(["am", "pm"])}),
        backfill_policy=dg.BackfillPolicy.single_run(),
        ins={"events": dg.AssetIn(spec.key, input_manager_key="tables")},
    )
    def halves(events: StreamBatches) -> dg.MaterializeResult[None]:
        found.extend(events.reader.read_all().column("at").to_pylist())
        return events.done()

    def run(**settings: Any) -> dg.ExecuteInProcessResult:
        resources = {"tables": manager}
        return dg.materialize(
            [spec, halves],
            selection=[halves],
            resources=resources,
            instance=instance,
            raise_on_error=False,
            **settings,
        )

    for half in ("am", "pm"):
        found.clear()
        result = run(partition_key=dg.MultiPartitionKey({"day": key(2), "half": half}))
        assert sorted(found) == [at(2, hour) for hour in HOURS]
        [event] = result.get_asset_materialization_events()
        metadata = event.materialization.metadata
        assert metadata["pravega/consumer"].value == f"dagster/halves half={half}"
        [record] = client.cut_ledger(timed.scope).records(f"dagster/halves half={half}", timed)
        assert record.is_done
    found.clear()
    both = run(
        tags={
            "dagster/asset_partition_range_start": f"{key(1)}|am",
            "dagster/asset_partition_range_end": f"{key(2)}|am",
        }
    )
    assert both.success
    assert sorted(found) == [at(day, hour) for day in (1, 2) for hour in HOURS]
    tags = {"dagster/asset_partition_range_start": f"{key(1)}|am", "dagster/asset_partition_range_end": f"{key(2)}|pm"}
    refused = run(tags=tags)
    [failure] = refused.get_step_failure_events()
    assert "partitions of half=am, half=pm in one run" in str(failure.step_failure_data.user_failure_data)

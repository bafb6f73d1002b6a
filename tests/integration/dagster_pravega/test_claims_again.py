"""A partition is claimed again, with what came late: because somebody says so, and never otherwise."""

import json

import dagster as dg
import pytest
from tests.integration.dagster_pravega.days import DAYS, HOURS, OPTIONS, at, key

from aiopravega import StreamCutRange
from dagster_pravega import StreamCutPartitions, StreamRead, pravega_stream_spec


@pytest.fixture
def read_day(timed, manager, instance, metadata_of):
    """Materializes the second day; its times and its metadata, or why it failed."""
    spec = pravega_stream_spec(str(timed), options=OPTIONS)

    def read_day(day=2, **settings):
        found = []

        @dg.asset(partitions_def=DAYS, ins={"events": dg.AssetIn(spec.key, input_manager_key="pravega_spark")})
        def day_(events: StreamRead) -> dg.MaterializeResult[None]:
            found.extend(sorted(row.at for row in events.frame.collect()))
            return events.done()

        result = dg.materialize(
            [spec, day_],
            selection=[day_],
            resources={"pravega_spark": manager},
            partition_key=key(day),
            instance=instance,
            raise_on_error=False,
            **settings,
        )
        if not result.success:
            [failure] = result.get_step_failure_events()
            return str(failure.step_failure_data.user_failure_data or failure.step_failure_data.error)
        [materialization] = result.asset_materializations_for_node("day_")
        return found, metadata_of(materialization)

    return read_day


def test_a_later_claim_of_a_day_has_what_came_late(timed, client, read_day):
    on_time = [at(2, hour) for hour in HOURS]
    again = {"tags": {"pravega/claim": "2"}}
    assert "has no range yet, so that it cannot be claimed again" in read_day(**again)
    assert read_day()[0] == on_time

    with client.writer(timed) as writer:
        writer.write(json.dumps({"at": at(2, 7)}).encode())
    assert read_day()[0] == on_time
    late, metadata = read_day(**again)
    with client.writer(timed) as writer:
        writer.write(json.dumps({"at": at(2, 8)}).encode())

    assert late == sorted([*on_time, at(2, 7)])
    assert metadata["pravega/claim"] == 2
    assert metadata["pravega/event_times"]["since"] == "2013-01-02T00:00:00+00:00"
    assert read_day(**again)[0] == late  # the range of the second claim stays what it was
    by_config = {"run_config": {"ops": {"day_": {"inputs": {"events": {"claim": 3}}}}}}
    assert read_day(**by_config)[0] == sorted([*late, at(2, 8)])
    assert read_day()[0] == on_time
    records = client.cut_ledger(timed.scope).consumers()
    assert all(len(each) == 1 and each[0].is_done for each in records.values())

    assert "the run config says 3 and the run's tag 'pravega/claim' says '2'" in read_day(**again, **by_config)
    assert "claim is 'soon', but must be a whole number" in read_day(tags={"pravega/claim": "soon"})


def test_a_range_of_the_ledger_cannot_be_claimed_again(client, make_stream, append, manager, instance):
    stream = make_stream()
    append(stream, ["one"])
    spec = pravega_stream_spec(str(stream))
    ranges = StreamCutPartitions(str(stream), consumer="copies")
    ledger = client.cut_ledger(stream.scope)
    ledger.create()
    head, tail = client.head(stream), client.tail(stream)
    ledger.claim(ranges.interval("a"), StreamCutRange(head, tail))
    instance.add_dynamic_partitions(ranges.name, ["a"])

    @dg.asset(partitions_def=ranges, ins={"events": dg.AssetIn(spec.key, input_manager_key="pravega_spark")})
    def copies(events: StreamRead) -> dg.MaterializeResult[None]:
        return events.done()

    with pytest.raises(dg.Failure, match="claim 2 would have no more events"):
        dg.materialize(
            [spec, copies],
            selection=[copies],
            resources={"pravega_spark": manager},
            partition_key="a",
            instance=instance,
            tags={"pravega/claim": "2"},
        )

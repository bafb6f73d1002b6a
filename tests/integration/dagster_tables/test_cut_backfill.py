"""A backfill between two cuts: planned once, in partitions, and shared with the other ways to run one."""

import dagster as dg
import pyarrow as pa
import pytest

from aiopravega import UNBOUNDED, StreamCutRange
from aiopravega.blocking.intervals import plan_parts, record_plan
from dagster_pravega import StreamBatches, StreamCutPartitions, build_cut_backfill, pravega_stream_spec

EVENTS = [f"event {number:03}" for number in range(40)]


@pytest.fixture
def partitions(client, stream):
    with client.writer(stream) as writer:
        writer.write_many([event.encode() for event in EVENTS], EVENTS)
    return StreamCutPartitions(str(stream), consumer="history")


@pytest.fixture
def plan(partitions, manager, instance):
    """Runs the job that plans; gives the partitions, or why it was refused."""

    def plan(**config):
        job = build_cut_backfill("plan", partitions_def=partitions)
        result = job.execute_in_process(
            run_config={"ops": {"plan": {"config": config}}},
            resources={"pravega": manager.pravega},
            instance=instance,
            raise_on_error=False,
        )
        if not result.success:
            [failure] = result.get_step_failure_events()
            return str(failure.step_failure_data.user_failure_data or failure.step_failure_data.error)
        return result.output_for_node("plan")

    return plan


@pytest.fixture
def run(partitions, stream, manager, instance):
    """Materializes partitions in one run; gives their events."""
    spec = pravega_stream_spec(str(stream))

    def run(first: str, last: str) -> list[str]:
        found: list[str] = []

        @dg.asset(
            partitions_def=partitions,
            backfill_policy=dg.BackfillPolicy.single_run(),
            ins={"events": dg.AssetIn(spec.key, input_manager_key="tables")},
        )
        def history(events: StreamBatches) -> dg.MaterializeResult[None]:
            table: pa.Table = events.reader.read_all()
            found.extend(bytes(event).decode() for event in table.column("event").to_pylist())
            return events.done()

        tags = {"dagster/asset_partition_range_start": first, "dagster/asset_partition_range_end": last}
        resources = {"tables": manager}
        assert dg.materialize(
            [spec, history], selection=[history], resources=resources, instance=instance, tags=tags
        ).success
        return found

    return run


def test_a_plan_becomes_partitions_and_others_continue_it(plan, run, partitions, stream, client, instance):
    end = client.tail(stream)
    with client.writer(stream) as writer:
        writer.write(b"late")

    keys = plan(end=end.to_text(), parts=4)

    assert keys == [f"{number} of 4" for number in range(1, 5)]
    assert sorted(instance.get_dynamic_partitions(partitions.name)) == keys
    assert plan(end=end.to_text(), parts=4) == keys
    first = run("1 of 4", "2 of 4")
    # As Airflow's operator and the command line plan.
    rest = plan_parts(client, stream, "history")
    assert [interval.name for interval in rest.waiting] == keys[2:]
    assert sorted(first + run("3 of 4", "4 of 4")) == EVENTS
    assert all(record.is_done for record in client.cut_ledger(stream.scope).records("history", stream))


def test_a_plan_of_others_becomes_partitions(plan, run, stream, client):
    planned = plan_parts(client, stream, "history", parts=2)
    ledger = client.cut_ledger(stream.scope)
    record_plan(ledger, planned, by="airflow")

    assert plan() == ["1 of 2", "2 of 2"]
    assert sorted(run("1 of 2", "2 of 2")) == EVENTS


def test_what_cannot_be_planned_is_refused(plan, stream, client, partitions):
    assert "InvalidStreamCutError" in plan(start="yesterday")
    assert "ConfigurationError" in plan(parts=2, max_bytes=100)
    ledger = client.cut_ledger(stream.scope)
    ledger.create()
    whole = client.resolve(StreamCutRange(UNBOUNDED, UNBOUNDED), stream)
    ledger.record(partitions.interval("of a sensor"), whole, None)
    assert "LedgerError" in plan(parts=2)

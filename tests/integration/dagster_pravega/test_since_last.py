"""Inputs that read what was written since the last run, for assets that Dagster materializes on observations."""

import dagster as dg
import pytest

from aiopravega.ledger import IntervalState
from dagster_pravega import StreamInput, StreamRead, pravega_stream_spec

LAST = StreamInput(since="last", consumer="pages").metadata()


@pytest.fixture
def stream(make_stream, append):
    stream = make_stream()
    append(stream, ["a", "b"])
    return stream


@pytest.fixture
def run(stream, manager, instance):
    """Materializes an asset that reads the stream; gives what it read, and its metadata, None if it failed."""
    spec = pravega_stream_spec(str(stream))

    def run(metadata=LAST, *, fails=False, partitions=None, key=None, done=True):
        found: list[str] = []
        given = dg.AssetIn(spec.key, input_manager_key="pravega_spark", metadata=metadata)

        @dg.asset(ins={"visits": given}, partitions_def=partitions)
        def pages(visits: StreamRead) -> dg.MaterializeResult[None]:
            found.extend(bytes(row.event).decode() for row in visits.frame.collect())
            if fails:
                raise RuntimeError("the disk is full")
            return visits.done() if done else dg.MaterializeResult()

        result = dg.materialize(
            [spec, pages],
            selection=[pages.key],
            resources={"pravega_spark": manager},
            instance=instance,
            partition_key=key,
            raise_on_error=False,
        )
        if not result.success:
            [failure] = result.get_step_failure_events()
            return sorted(found), str(failure.step_failure_data.user_failure_data or failure.step_failure_data.error)
        [materialization] = result.get_asset_materialization_events()
        values = materialization.materialization.metadata
        return sorted(found), {name: entry.value for name, entry in values.items()}

    return run


def test_each_run_reads_the_new_events_and_the_range_of_a_failed_run(run, client, stream, append):
    events, metadata = run()
    assert events == ["a", "b"]
    assert (metadata["pravega/consumer"], metadata["pravega/events"]) == ("pages", 2)
    assert run()[0] == []
    append(stream, ["c"])
    assert run(fails=True)[0] == ["c"]
    append(stream, ["d"])
    assert run(done=False)[0] == ["c", "d"]
    append(stream, ["e"])
    assert run()[0] == ["e"]

    states = [record.state for record in client.cut_ledger(stream.scope).records("pages", stream)]
    done, given_back = IntervalState.DONE, IntervalState.GIVEN_BACK
    assert states == [done, done, given_back, done, done]


def test_what_since_cannot_mean_is_refused(run):
    assert "must be one of last, latest" in run({"pravega/since": "yesterday"})[1]
    partitions = dg.StaticPartitionsDefinition(["red"])
    assert "for assets without partitions" in run(LAST, partitions=partitions, key="red")[1]

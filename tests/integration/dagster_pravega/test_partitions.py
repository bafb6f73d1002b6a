"""Partitions that are not event times: refused without a range, and with one, of the same range forever."""

from datetime import UTC, datetime

import dagster as dg
import pytest

from aiopravega import UNBOUNDED, StreamCutRange
from aiopravega.ledger import Interval
from dagster_pravega import StreamCutPartitions, StreamRead, pravega_stream_spec

EVENTS = [f"event {number:03}" for number in range(10)]
DAILY = dg.DailyPartitionsDefinition(start_date="2026-01-01")
STATIC = dg.StaticPartitionsDefinition(["red", "blue"])


@pytest.fixture
def stream(make_stream, append):
    stream = make_stream()
    append(stream, EVENTS)
    return stream


@pytest.fixture
def whole(client, stream):
    """The stream as it is now, as run config."""
    return client.resolve(StreamCutRange(UNBOUNDED, UNBOUNDED), stream).to_json()


@pytest.fixture
def read(stream, manager, instance):
    """Materializes an asset of the stream, for one of its partitions; gives its events and its metadata."""
    spec = pravega_stream_spec(str(stream))

    def read(partitions=None, key=None, *, cuts=None, metadata=None, fails=False):
        found: list[str] = []
        given = dg.AssetIn(spec.key, input_manager_key="pravega_spark", metadata=metadata)

        @dg.asset(partitions_def=partitions, ins={"events": given})
        def colours(events: StreamRead) -> dg.MaterializeResult[None]:
            found.extend(bytes(row.event).decode() for row in events.frame.collect())
            return events.done()

        result = dg.materialize(
            [spec, colours],
            selection=[colours.key],
            resources={"pravega_spark": manager},
            partition_key=key,
            instance=instance,
            run_config={"ops": {"colours": {"inputs": {"events": cuts}}}} if cuts else None,
            raise_on_error=False,
        )
        if fails:
            assert not result.success
            assert found == []
            [failure] = result.get_step_failure_events()
            return str(failure.step_failure_data.user_failure_data or failure.step_failure_data.error)
        assert result.success
        [materialization] = result.get_asset_materialization_events()
        values = materialization.materialization.metadata
        return sorted(found), {name: entry.value for name, entry in values.items()}

    return read


@pytest.mark.parametrize(
    ("partitions", "key", "kind"),
    [
        (STATIC, "red", "StaticPartitionsDefinition"),
        (DAILY, "2026-01-02", "of a stream without the option 'event_time'"),
        (
            dg.MultiPartitionsDefinition({"day": DAILY, "colour": STATIC}),
            dg.MultiPartitionKey({"day": "2026-01-02", "colour": "red"}),
            "MultiPartitionsDefinition",
        ),
        (dg.DynamicPartitionsDefinition(name="colours"), "green", "DynamicPartitionsDefinition"),
    ],
)
def test_a_partition_that_does_not_say_which_part_it_reads_is_refused(read, instance, partitions, key, kind):
    instance.add_dynamic_partitions("colours", ["green"])
    text = read(partitions, key, fails=True)
    assert "has no range of" in text
    assert kind in text
    for way in ("run config of the input", "event_time", "pravega/cuts"):
        assert way in text


def test_one_range_for_all_partitions_can_be_meant(read):
    every = {"pravega/cuts": {"start": "earliest", "end": "latest"}}
    assert [read(STATIC, key, metadata=every)[0] for key in ("red", "blue")] == [EVENTS, EVENTS]


def test_a_sensor_and_a_backfill_of_a_partition_read_the_same_range(read, client, stream, append, whole, instance):
    colours = dg.DynamicPartitionsDefinition(name="colours")
    instance.add_dynamic_partitions("colours", ["green"])
    by_sensor, metadata = read(colours, "green", cuts=whole)
    append(stream, ["late"])

    by_backfill, same = read(colours, "green")

    assert by_sensor == by_backfill == EVENTS
    assert metadata["pravega/cuts"] == same["pravega/cuts"] == whole
    assert (same["pravega/consumer"], same["pravega/interval"]) == ("dagster/colours", "green")
    [record] = client.cut_ledger(stream.scope).records("dagster/colours", stream)
    assert record.is_done
    assert read(colours, "green", cuts={"end": "latest"})[0] == EVENTS  # a name is what it stood for at first
    start = whole["end"]
    assert "pravega cuts forget" in read(colours, "green", cuts={"start": start}, fails=True)


def test_a_partition_of_a_recreated_stream_is_reported_and_forgettable(
    read, client, stream, append, whole, make_stream
):
    read(STATIC, "red", cuts=whole)
    client.delete_stream(stream)
    make_stream()
    append(stream, ["new"])

    text = read(STATIC, "red", fails=True)

    today = datetime.now(UTC).date().isoformat()
    assert f"stream {stream} was deleted and made again on {today}T" in text
    assert "; the range of interval 'red' of 'dagster/colours'" in text
    assert read(STATIC, "red", cuts={"end": "latest"}, metadata={"pravega/consumer": "again"})[0] == ["new"]
    client.cut_ledger(stream.scope).forget("dagster/colours", stream)
    assert read(STATIC, "red", cuts={"end": "latest"})[0] == ["new"]
    assert client.cut_ledger(stream.scope).find(Interval("again", stream, "red")).is_done


def test_a_read_without_partitions_and_range_reports_the_whole_stream(read, whole):
    events, metadata = read()
    assert events == EVENTS
    assert metadata["pravega/whole_stream"] is True
    assert "pravega/whole_stream" not in read(cuts=whole)[1]


def test_a_partition_of_cuts_is_its_recorded_range_and_is_done_then(read, client, stream, append, whole, instance):
    partitions = StreamCutPartitions(str(stream), consumer="billing")
    ledger = client.cut_ledger(stream.scope)
    ledger.create()
    first, second = (Interval("billing", stream, name) for name in ("by Airflow", "by Dagster"))
    ledger.record(first, StreamCutRange.from_json(whole), None, by="airflow/billing")
    append(stream, ["late"])
    tail = client.tail(stream)
    last = ledger.last(second)
    ledger.record(second, StreamCutRange(last.end, tail), last, chained=True)
    instance.add_dynamic_partitions(partitions.name, [first.name, second.name, "unknown"])

    # What the metadata name for all partitions is not meant for these.
    every = {"pravega/cuts": {"start": "earliest", "end": "latest"}}
    events, metadata = read(partitions, first.name, metadata=every)
    assert (events, metadata["pravega/cuts"]) == (EVENTS, whole)
    assert (metadata["pravega/consumer"], metadata["pravega/interval"]) == ("billing", first.name)
    assert ledger.find(first).is_done
    assert read(partitions, second.name)[0] == ["late"]
    assert read(partitions, first.name, cuts=whole)[0] == EVENTS

    assert "the cut ledger has no interval 'unknown'" in read(partitions, "unknown", fails=True)
    assert "but the run config names" in read(partitions, first.name, cuts={"end": tail.to_text()}, fails=True)
    ledger.reopen(second, "once more")
    ledger.give_back(second, "taken over by 'another'")
    assert "has given its range back" in read(partitions, second.name, fails=True)

"""The sensor that takes ranges: none lost or doubled wherever a tick is killed, in one chain with other schedulers."""
# long because: each tick has one sensor, with all that it can meet

from datetime import timedelta

import dagster as dg
import pytest
from dagster._core.definitions.sensor_definition import SensorExecutionData
from dagster._core.execution.build_resources import wrap_resources_for_execution

from aiopravega import UNBOUNDED, StreamCutRange
from aiopravega.errors import StreamNotFoundError
from aiopravega.ledger import Interval, IntervalState
from dagster_pravega import PravegaResource, StreamCutPartitions, build_stream_cut_sensor

CONSUMER = "billing"
# What a killed tick had done; the ledger comes before all of it.
KILLS = ("the partition", "the run", "the cursor")


@pytest.fixture(autouse=True)
def running_spark():
    """These tests need no Spark."""


@pytest.fixture
def instance(tmp_path):
    """An instance with files: the partitions that a tick adds count only there."""
    with dg.DagsterInstance.local_temp(str(tmp_path)) as made:
        yield made


@pytest.fixture
def stream(make_stream, append):
    stream = make_stream()
    append(stream, ["a1", "a2"])
    return stream


@pytest.fixture
def ledger(client, stream):
    ledger = client.cut_ledger(stream.scope)
    ledger.create()
    return ledger


@pytest.fixture
def partitions(stream):
    return StreamCutPartitions(str(stream), consumer=CONSUMER)


@pytest.fixture
def records(ledger, stream):
    """The recorded ranges."""
    return lambda: ledger.records(CONSUMER, stream)


@pytest.fixture
def events_of(client, stream):
    """The events of a recorded range."""
    return lambda record: sorted(event.data.decode() for event in client.read(record.range, stream))


class Daemon:
    """Does with the sensor's answers what Dagster's daemon does, in its order; it can be killed at each step."""

    def __init__(self, sensor, bills, definitions, instance) -> None:
        self.sensor, self.bills, self.definitions, self.instance = sensor, bills, definitions, instance
        self.failing: list[bool] = []
        self.cursor: str | None = None
        self.runs: dict[str, str] = {}

    def tick(self, killed_before: str | None = None) -> SensorExecutionData:
        """One tick, by a daemon that is killed before it stores one of `KILLS`."""
        with dg.SensorEvaluationContext(
            instance_ref=self.instance.get_ref(),  # as in a daemon: Dagster looks there for the partitions
            last_tick_completion_time=None,
            last_run_key=None,
            cursor=self.cursor,
            repository_name=None,
            repository_def=self.definitions.get_repository_def(),
            resources=wrap_resources_for_execution(self.definitions.resources),
        ) as context:
            found: SensorExecutionData = self.sensor.evaluate_tick(context)
        steps = {
            "the partition": lambda: self._partitions(found),
            "the run": lambda: self._runs(found),
            "the cursor": lambda: setattr(self, "cursor", found.cursor or self.cursor),
        }
        for name, step in steps.items():
            if name == killed_before:
                break
            step()
        return found

    def _partitions(self, found) -> None:
        for request in found.dynamic_partitions_requests or ():
            if isinstance(request, dg.AddDynamicPartitionsRequest):
                self.instance.add_dynamic_partitions(request.partitions_def_name, request.partition_keys)
            else:
                for key in request.partition_keys:
                    self.instance.delete_dynamic_partition(request.partitions_def_name, key)

    def _runs(self, found) -> None:
        for request in found.run_requests or ():
            self.runs.setdefault(request.run_key, request.partition_key)


@pytest.fixture
def daemon(partitions, pravega_config, instance):
    """A daemon with a sensor of one asset, which can be made to fail."""
    failing: list[bool] = []

    def daemon(**arguments) -> Daemon:
        @dg.asset(partitions_def=partitions)
        def bills() -> None:
            if failing:
                raise RuntimeError("the disk is full")

        sensor = build_stream_cut_sensor("cuts", partitions_def=partitions, target=[bills], **arguments)
        definitions = dg.Definitions(
            [bills],
            sensors=[sensor],
            resources={"pravega": PravegaResource(controller_uri=pravega_config.controller_uri)},
        )
        made = Daemon(sensor, bills, definitions, instance)
        made.failing = failing
        return made

    return daemon


@pytest.fixture
def run(instance, stream):
    """Runs a partition of the daemon's asset as the sensor has requested it, or as a person does who has no tags."""

    def run(daemon, key, *, by_hand=False) -> bool:
        tags = {} if by_hand else {"pravega/stream": str(stream), "pravega/consumer": CONSUMER}
        return dg.materialize(
            [daemon.bills], partition_key=key, instance=instance, tags=tags, raise_on_error=False
        ).success

    return run


@pytest.mark.parametrize("killed_before", KILLS)
def test_a_tick_that_is_killed_is_repeated_with_the_same_range(
    daemon, instance, partitions, stream, append, client, records, events_of, killed_before
):
    billing = daemon(on_open="skip")
    for more in ([], ["b1"], ["c1", "c2"]):
        append(stream, more)
        billing.tick(killed_before)
        append(stream, [f"late after {more}"])
        billing.tick()
    billing.tick()

    found = records()
    assert [record.interval for record in found] == list(billing.runs.values())
    assert sorted(instance.get_dynamic_partitions(partitions.name)) == sorted(billing.runs.values())
    whole = StreamCutRange(UNBOUNDED, UNBOUNDED)
    everything = sorted(event.data.decode() for event in client.read(whole, stream))
    assert sorted(event for record in found for event in events_of(record)) == everything
    assert "not yet 1 bytes" in billing.tick().skip_message


def test_a_range_waits_for_the_one_before_it_whose_run_says_how_it_ended(daemon, run, stream, append, records):
    billing = daemon()
    [first] = [request.partition_key for request in billing.tick().run_requests]
    assert f"waiting for interval '{first}' of 'billing'" in billing.tick().skip_message

    billing.failing.append(True)
    assert not run(billing, first)
    waiting = billing.tick().skip_message
    assert "which has failed" in waiting
    assert "new events behind it start its range again" in waiting
    [record] = records()
    assert (record.state, "failed" in record.reason) == (IntervalState.FAILED, True)

    billing.failing.clear()
    assert run(billing, first, by_hand=True)  # of whatever assets
    assert "which is failed since" in billing.tick().skip_message
    assert run(billing, first)
    append(stream, ["b1"])
    [second] = [request.partition_key for request in billing.tick().run_requests]
    before, after = records()
    assert before.is_done
    assert (after.interval, after.range.start) == (second, before.range.end)


@pytest.mark.parametrize("on_open", ["wait", "take_over"])
def test_the_range_of_a_failed_run_is_taken_over(
    daemon, run, stream, append, instance, partitions, records, events_of, on_open
):
    billing = daemon(on_open=on_open)
    [first] = [request.partition_key for request in billing.tick().run_requests]
    append(stream, ["b1"])
    billing.failing.append(True)
    run(billing, first)

    [second] = [request.partition_key for request in billing.tick().run_requests]

    given_back, taken = records()
    assert (given_back.interval, given_back.state) == (first, IntervalState.GIVEN_BACK)
    assert (taken.interval, events_of(taken)) == (second, ["a1", "a2", "b1"])
    assert instance.get_dynamic_partitions(partitions.name) == [second]


def test_ranges_that_airflow_has_taken_are_partitions_and_not_run_again(
    daemon, client, stream, append, ledger, records, instance, partitions, events_of
):
    task = Interval(CONSUMER, stream, "2026-01-01T00:00:00+00:00")
    ledger.record(task, StreamCutRange(client.head(stream), client.tail(stream)), None, by="airflow/billing")
    append(stream, ["b1"])
    billing = daemon()

    found = billing.tick()
    assert (found.run_requests, instance.get_dynamic_partitions(partitions.name)) == ([], [task.name])
    assert "waiting for interval" in billing.tick().skip_message
    ledger.finish(task)
    billing.tick()

    assert [events_of(record) for record in records()] == [["a1", "a2"], ["b1"]]
    assert len(billing.runs) == 1


def test_a_second_sensor_of_a_consumer_is_refused_while_one_is_there(daemon, stream, instance):
    billing = daemon()
    [first] = [request.partition_key for request in billing.tick().run_requests]
    ranges = StreamCutPartitions(str(stream), consumer=CONSUMER)
    other = build_stream_cut_sensor("other_cuts", partitions_def=ranges, target=[billing.bills])
    resources = billing.definitions.resources
    both = dg.Definitions([billing.bills], sensors=[billing.sensor, other], resources=resources)
    with pytest.raises(Exception, match="sensor 'cuts' claims the ranges of .*, and sensor 'other_cuts' would"):
        Daemon(other, billing.bills, both, instance).tick()
    alone = Daemon(
        other, billing.bills, dg.Definitions([billing.bills], sensors=[other], resources=resources), instance
    )
    alone.cursor = first
    assert "waiting for interval" in str(alone.tick().skip_message)


def test_a_reset_cursor_and_a_forgotten_chain_lose_nothing(daemon, stream, append, ledger, records, events_of):
    billing = daemon(on_open="skip")
    billing.tick()
    append(stream, ["b1"])
    billing.tick()
    billing.cursor = None
    again = billing.tick()
    assert [request.partition_key for request in again.run_requests] == list(billing.runs.values())

    ledger.forget(CONSUMER, stream)
    billing.tick()
    [record] = records()
    assert events_of(record) == ["a1", "a2", "b1"]
    assert len(billing.runs) == 3  # the name is new, so that Dagster does not take its run for an old one


def test_conditions_bound_a_range_below_and_above(daemon, client, stream, append, records):
    billing = daemon(on_open="skip", min_events=3, max_bytes=60)
    assert "not yet 3 events" in billing.tick().skip_message
    append(stream, [f"b{number}" for number in range(10)])
    billing.tick()
    [record] = records()
    assert 0 < client.distance(record.range.start, record.range.end) <= 60
    client.seal_stream(stream)
    while billing.tick().run_requests:
        pass
    assert "is sealed" in billing.tick().skip_message
    sizes = [client.distance(record.range.start, record.range.end) for record in records()]
    assert len(sizes) >= 2
    assert max(sizes) <= 60


@pytest.mark.parametrize("killed_before", [None, *KILLS])
def test_several_ranges_of_one_tick_have_each_event_once(
    daemon, client, stream, append, instance, partitions, records, events_of, killed_before
):
    billing = daemon(on_open="skip", max_bytes=30, max_ranges=4)
    append(stream, [f"b{number}" for number in range(10)])
    first = billing.tick(killed_before)
    assert len(first.run_requests) == 4
    while billing.tick().run_requests:
        pass
    found = records()
    assert [record.interval for record in found] == list(billing.runs.values())
    assert sorted(instance.get_dynamic_partitions(partitions.name)) == sorted(billing.runs.values())
    assert all(0 < client.distance(record.range.start, record.range.end) <= 30 for record in found)
    everything = ["a1", "a2", *(f"b{number}" for number in range(10))]
    assert sorted(event for record in found for event in events_of(record)) == everything
    client.seal_stream(stream)
    assert "is sealed" in billing.tick().skip_message


def test_a_first_range_may_begin_at_the_tail(daemon, stream, append, records, events_of):
    billing = daemon(since="latest", quiet_for=timedelta())
    assert "not yet" in billing.tick().skip_message
    append(stream, ["b1"])
    billing.tick()
    assert [events_of(record) for record in records() if record.range.start != record.range.end] == [["b1"]]


def test_a_part_that_is_gone_fails_the_tick_or_is_skipped(daemon, client, stream, append, records, events_of):
    billing = daemon(on_open="skip")
    billing.tick()
    append(stream, ["b1"])
    client.truncate_stream(client.tail(stream))
    append(stream, ["c1"])
    with pytest.raises(Exception, match="are gone"):
        billing.tick()

    skipping = daemon(on_open="skip", on_truncated="skip")
    skipping.cursor = billing.cursor
    skipping.tick()
    assert events_of(records()[-1]) == ["c1"]


def test_a_stream_that_is_not_there_fails_the_tick_and_makes_no_ledger(client, scope, pravega_config, instance):
    partitions = StreamCutPartitions(f"{scope}/nowhere", consumer=CONSUMER)
    sensor = build_stream_cut_sensor("nowhere", partitions_def=partitions, target="*")
    pravega = PravegaResource(controller_uri=pravega_config.controller_uri)
    context = dg.build_sensor_context(instance=instance, resources={"pravega": pravega})
    with context, pytest.raises(StreamNotFoundError):
        sensor.evaluate_tick(context)
    assert client.list_tables(scope) == []

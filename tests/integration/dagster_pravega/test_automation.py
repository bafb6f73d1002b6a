"""Conditions of streams in declarative automation: what a tick of Dagster's sensor requests, and what it says."""
# long because: each condition is tried in ticks of one sensor

import json
import logging
import socket
from datetime import UTC, datetime, timedelta

import dagster as dg
import pyarrow as pa
import pytest
from tests.integration.dagster_pravega.days import DAYS, at, key

from aiopravega import StreamCutRange
from aiopravega.errors import ConfigurationError
from dagster_pravega import (
    PravegaArrowIOManager,
    PravegaCondition,
    PravegaResource,
    StreamCutPartitions,
    build_automation_sensor,
    build_late_events_sensor,
    pravega_output,
    pravega_stream_spec,
)

EVENTS = [f"event {number}" for number in range(10)]
BYTES = sum(8 + len(event) for event in EVENTS)


@pytest.fixture(autouse=True)
def running_spark():
    """These tests need no Spark."""


@pytest.fixture
def pravega(pravega_config):
    return PravegaResource(controller_uri=pravega_config.controller_uri)


@pytest.fixture
def stream(make_stream, append):
    stream = make_stream()
    append(stream, EVENTS)
    return stream


@pytest.fixture
def away():
    """A resource of a server that accepts connections, and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        host, port = server.getsockname()
        yield PravegaResource(
            controller_uri=f"tcp://{host}:{port}", connect_timeout=0.2, request_timeout=0.2, retry_timeout=0.2
        )


class _Lines(logging.Handler):
    """Keeps the lines of a log."""

    def __init__(self, lines: list[str]) -> None:
        super().__init__()
        self._lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        self._lines.append(record.getMessage())


class Automation:
    """Ticks of the sensor, and the runs that they request, as Dagster's daemon does them."""

    def __init__(self, assets, instance, resources=None) -> None:
        self.sensor = build_automation_sensor()
        self.definitions = dg.Definitions(assets, sensors=[self.sensor], resources=resources or {})
        self.instance = instance
        self.cursor: str | None = None
        self.log: list[str] = []
        self.requests: list[dg.RunRequest] = []

    def tick(self) -> list[tuple[str, str | None]]:
        """The assets and partitions that a tick requests."""
        handler = _Lines(self.log)
        given = {"definitions": self.definitions, "instance": self.instance, "cursor": self.cursor}
        with dg.build_sensor_context(**given) as context:
            context.log.addHandler(handler)
            found = self.sensor.evaluate_tick(context)
        self.cursor = found.cursor
        self.requests = list(found.run_requests or ())
        requested = []
        for request in found.run_requests or ():
            if request.asset_graph_subset is not None:
                several = request.asset_graph_subset.iterate_asset_partitions()
                requested += [(asset.to_user_string(), part) for asset, part in several]
            for asset in request.asset_selection or ():
                requested.append((asset.to_user_string(), request.partition_key))
        return sorted(requested)

    def run(self, asset) -> bool:
        """Materialize an asset."""
        job = self.definitions.resolve_implicit_global_asset_job_def()
        return job.execute_in_process(instance=self.instance, asset_selection=[dg.AssetKey(asset)]).success


@pytest.fixture
def copies(stream, pravega, instance):
    """An asset that reads what is new, with a condition; and what its runs have read."""
    read = []

    def copies(condition) -> Automation:
        spec = pravega_stream_spec(str(stream), key="rides")
        since_last = dg.AssetIn("rides", input_manager_key="arrow", metadata={"pravega/since": "last"})

        @dg.asset(ins={"rides": since_last}, automation_condition=condition)
        def copies(rides: pa.Table) -> None:
            read.append(sorted(bytes(each).decode() for each in rides.column("event").to_pylist()))

        resources = {"pravega": pravega, "arrow": PravegaArrowIOManager(pravega=pravega)}
        return Automation([spec, copies], instance, resources)

    return copies, read


def test_a_run_is_requested_when_enough_bytes_wait_and_none_after_it(copies, pravega, stream, append):
    make, read = copies
    enough = PravegaCondition.bytes_waiting(BYTES + 1, pravega=pravega)
    automation = make(enough & ~dg.AutomationCondition.in_progress())
    assert automation.tick() == []
    append(stream, ["more"])
    assert automation.tick() == [("copies", None)]
    assert automation.run("copies")
    assert automation.tick() == []
    assert read == [sorted([*EVENTS, "more"])]


def test_conditions_combine_with_those_of_dagster(copies, pravega, instance):
    make, _ = copies
    waits, much = (PravegaCondition.bytes_waiting(n, pravega=pravega) for n in (1, 10**9))
    eager = dg.AutomationCondition.eager()
    both = make(eager & waits), make(eager & much)
    assert [each.tick() for each in both] == [[], []]
    instance.report_runless_asset_event(dg.AssetMaterialization("rides"))
    assert [each.tick() for each in both] == [[("copies", None)], []]
    assert make(much | waits).tick() == [("copies", None)]
    assert make(~waits).tick() == []
    once = make(waits.newly_true())
    assert [once.tick(), once.tick()] == [[("copies", None)], []]
    held = make(waits.newly_true().since(dg.AutomationCondition.newly_updated()))
    assert [held.tick(), held.tick()] == [[("copies", None)], [("copies", None)]]
    assert held.run("copies")
    assert held.tick() == []


def test_lag_is_over_a_duration_only_while_events_wait(copies, pravega, stream, append):
    make, _ = copies
    never_done = make(PravegaCondition.lag_over(timedelta(days=1), pravega=pravega))
    assert never_done.tick() == [("copies", None)]
    at_once = make(PravegaCondition.lag_over(timedelta(), pravega=pravega))
    assert at_once.run("copies")
    assert at_once.tick() == []
    append(stream, ["more"])
    assert at_once.tick() == [("copies", None)]
    assert never_done.tick() == []


def test_days_are_requested_once_the_stream_is_complete_up_to_their_end(timed, pravega, instance):
    spec = pravega_stream_spec(str(timed), key="events")
    complete = PravegaCondition.watermark_past(pravega=pravega)

    @dg.asset(partitions_def=DAYS, deps=[spec], automation_condition=complete & dg.AutomationCondition.missing())
    def days() -> None:
        pass

    regions = dg.MultiPartitionsDefinition({"day": DAYS, "region": dg.StaticPartitionsDefinition(["north", "south"])})

    @dg.asset(partitions_def=regions, deps=[spec], automation_condition=complete)
    def days_of_regions() -> None:
        pass

    found = Automation([spec, days, days_of_regions], instance).tick()
    wanted = [key(number) for number in (1, 2, 3)]
    wanted.insert(0, "2012-12-31")  # it ends at the first watermark, and has what was written before
    assert [part for name, part in found if name == "days"] == wanted
    of_regions = [str(part) for name, part in found if name == "days_of_regions"]
    assert of_regions == [f"{day}|{region}" for day in wanted for region in ("north", "south")]


def test_a_moment_is_past_once_the_stream_is_complete_up_to_it(timed, pravega, instance):
    spec = pravega_stream_spec(str(timed), key="events")

    def requested(moment) -> bool:
        @dg.asset(deps=[spec], automation_condition=PravegaCondition.watermark_past(moment, pravega=pravega))
        def report() -> None:
            pass

        return Automation([spec, report], instance).tick() == [("report", None)]

    assert requested(datetime(2013, 1, 3, tzinfo=UTC))
    assert not requested(datetime(2013, 2, 1, tzinfo=UTC))
    assert not requested(timedelta(days=1))


@pytest.fixture
def late_days(timed, pravega, client, instance):
    """Automation of an asset of days, which is written to a stream; a run of it; and a search for late events."""
    options = {"decode": "json", "columns": "at long", "event_time": "at"}
    spec = pravega_stream_spec(str(timed), key="events", options=options)
    assert client.create_stream(f"{timed.scope}/copies")
    read: dict[str, list[int]] = {}

    @dg.asset(
        partitions_def=DAYS,
        ins={"events": dg.AssetIn("events", input_manager_key="arrow")},
        automation_condition=PravegaCondition.late_events(2, pravega=pravega) & ~dg.AutomationCondition.in_progress(),
        **pravega_output(f"{timed.scope}/copies", io_manager_key="arrow"),
    )
    def day(context: dg.AssetExecutionContext, events: pa.Table) -> pa.Table:
        read[context.partition_key] = sorted(events.column("at").to_pylist())
        return events

    resources = {"pravega": pravega, "arrow": PravegaArrowIOManager(pravega=pravega)}
    automation = Automation([spec, day], instance, resources)

    def run(partition: str, tags: dict[str, str] | None = None) -> list[int]:
        given = {"resources": resources, "instance": instance, "partition_key": partition, "tags": tags}
        dg.materialize([spec, day], selection=[day], **given)
        return read[partition]

    def search() -> None:
        sensor = build_late_events_sensor("late", stream=str(timed), asset=day, options=options, late="report")
        given = {"definitions": automation.definitions, "instance": instance}
        with dg.build_sensor_context(resources={"pravega": pravega}, **given) as context:
            sensor.evaluate_tick(context)

    return automation, run, search


def test_days_with_enough_late_events_run_again_with_their_next_claim(late_days, timed, client):
    automation, run, search = late_days
    assert automation.tick() == []
    on_time = {number: run(key(number)) for number in (1, 2, 3)}
    with client.writer(timed) as writer:
        late = [at(2, 7), at(2, 8), at(3, 7)]
        writer.write_many([json.dumps({"at": each}).encode() for each in late])
    assert automation.tick() == [], "nobody has searched yet"
    search()
    assert automation.tick() == [("day", key(2))]
    [request] = automation.requests
    assert (request.tags["pravega/claim"], request.tags["pravega/rebuild"]) == ("2", "2")
    assert request.tags["dagster/partition"] == key(2)
    assert automation.tick() == [("day", key(2))]
    assert automation.requests[0].run_key == request.run_key, "Dagster would start a second run"
    assert run(key(2), request.tags) == sorted([*on_time[2], at(2, 7), at(2, 8)])
    assert automation.tick() == []
    with client.writer(timed) as writer:
        writer.write_many([json.dumps({"at": at(day, 9)}).encode() for day in (1, 1, 2, 2, 3)])
    search()
    assert automation.tick() == [("day", key(number)) for number in (1, 2, 3)]
    claims = {request.partition_key: request.tags["pravega/claim"] for request in automation.requests}
    assert claims == {key(1): "2", key(2): "3", key(3): "2"}


def test_late_events_are_refused_in_a_sensor_that_would_not_read_them(late_days):
    automation, _, _ = late_days
    automation.sensor = dg.AutomationConditionSensorDefinition("own", target="*", use_user_code_server=True)
    assert "is evaluated by another sensor than one of build_automation_sensor" in refused(automation)


def test_a_cluster_that_is_away_makes_its_conditions_false_only(stream, pravega, away, instance):
    near, far = (pravega_stream_spec(str(stream), key=name) for name in ("near", "far"))

    def asset_of(spec, resource):
        waits = PravegaCondition.bytes_waiting(1, pravega=resource)
        return dg.asset(name=f"copy_{spec.key.path[0]}", deps=[spec], automation_condition=waits)(lambda: None)

    automation = Automation([near, far, asset_of(near, pravega), asset_of(far, away)], instance)
    assert automation.tick() == [("copy_near", None)]
    [reason] = [line for line in automation.log if "taken for false" in line]
    assert "bytes_waiting(1) of copy_far is taken for false" in reason
    assert str(away.controller_uri).removeprefix("tcp://") in reason


def test_without_watermarks_a_condition_is_false_with_the_reason(stream, pravega, instance):
    spec = pravega_stream_spec(str(stream), key="rides")
    hour = PravegaCondition.watermark_past(timedelta(hours=1), pravega=pravega)

    @dg.asset(deps=[spec], automation_condition=hour)
    def report() -> None:
        pass

    automation = Automation([spec, report], instance)
    assert automation.tick() == []
    assert any("watermark" in line for line in automation.log if "taken for false" in line), automation.log


def test_ranges_as_partitions_have_the_consumer_of_their_definition(stream, pravega, client, instance):
    spec = pravega_stream_spec(str(stream), key="rides")
    ranges = StreamCutPartitions(str(stream), consumer="billing")
    ledger = client.cut_ledger(stream.scope)
    ledger.create()
    instance.add_dynamic_partitions(ranges.name, ["one"])

    @dg.asset(
        deps=[spec], partitions_def=ranges, automation_condition=PravegaCondition.bytes_waiting(1, pravega=pravega)
    )
    def bills() -> None:
        pass

    automation = Automation([spec, bills], instance)
    assert automation.tick() == [("bills", "one")]
    interval = ranges.interval("one")
    ledger.record(interval, StreamCutRange(client.head(stream), client.tail(stream)), None)
    ledger.finish(interval)
    assert automation.tick() == []


def test_partitions_with_two_dimensions_have_to_say_their_consumer(stream, pravega, instance):
    spec = pravega_stream_spec(str(stream), key="rides")
    regions = dg.MultiPartitionsDefinition({"day": DAYS, "region": dg.StaticPartitionsDefinition(["north"])})

    def automation(**given) -> Automation:
        waits = PravegaCondition.bytes_waiting(1, pravega=pravega, **given)

        @dg.asset(
            partitions_def=regions,
            deps=[spec],
            automation_condition=waits & dg.AutomationCondition.in_latest_time_window(),
        )
        def bills() -> None:
            pass

        return Automation([spec, bills], instance)

    assert "each value of a dimension of its partitions is a consumer" in refused(automation())
    assert automation(consumer="dagster/bills region=north").tick() == [("bills", "2013-01-05|north")]


def refused(automation: Automation) -> str:
    """The reason of a tick that fails."""
    with pytest.raises(Exception, match="condition") as caught:
        automation.tick()
    cause: BaseException | None = caught.value
    while cause is not None and not isinstance(cause, ConfigurationError):
        cause = cause.__cause__
    return str(cause)


def test_an_asset_of_two_streams_has_to_say_which_one_is_meant(make_stream, pravega, instance):
    first, second = (pravega_stream_spec(str(make_stream(name)), key=name) for name in ("first", "second"))

    def automation(**given) -> Automation:
        waits = PravegaCondition.bytes_waiting(1, pravega=pravega, **given)

        @dg.asset(deps=[first, second], automation_condition=waits)
        def joined() -> None:
            pass

        return Automation([first, second, joined], instance)

    assert "give the condition stream='scope/stream' and consumer='NAME'" in refused(automation())
    of_second = str(second.metadata["pravega/stream"])
    assert automation(stream=of_second).tick() == []

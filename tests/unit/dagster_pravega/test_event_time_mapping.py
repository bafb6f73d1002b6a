"""Partitions of ranges and of windows of time are mapped by the event times in their keys."""

import json
from datetime import UTC, datetime, timedelta

import dagster as dg
import pytest
from dagster._core.remote_representation.external_data import AssetParentEdgeSnap
from dagster._serdes import deserialize_value, serialize_value

from aiopravega.errors import ConfigurationError
from dagster_pravega import EventTimePartitionMapping, StreamCutPartitions
from dagster_pravega.metadata.cut_partitions import key_with_times, times_in

DAYS = dg.DailyPartitionsDefinition(start_date="2026-01-01", end_date="2026-01-11")
ORDERS = StreamCutPartitions("shop/orders", consumer="billing", ahead=timedelta())
VISITS = StreamCutPartitions("shop/visits", consumer="pages", ahead=timedelta())
MAPPING = EventTimePartitionMapping()


def at(day, hour=0):
    return datetime(2026, 1, day, hour, tzinfo=UTC)


def key(name, since, until):
    return key_with_times(name, (since, until))


@pytest.fixture
def instance():
    with dg.DagsterInstance.ephemeral() as made:
        yield made


@pytest.fixture
def upstream(instance):
    """The upstream partitions of some downstream ones."""

    def upstream(keys, of, to):
        subset = of.subset_with_partition_keys(keys)
        found = MAPPING.get_upstream_mapped_partitions_result_for_partitions(
            subset, of, to, dynamic_partitions_store=instance
        )
        assert found.required_but_nonexistent_subset.is_empty
        return sorted(found.partitions_subset.get_partition_keys())

    return upstream


@pytest.fixture
def downstream(instance):
    """The downstream partitions of some upstream ones."""

    def downstream(keys, of, to):
        subset = of.subset_with_partition_keys(keys)
        found = MAPPING.get_downstream_partitions_for_partitions(subset, of, to, dynamic_partitions_store=instance)
        return sorted(found.get_partition_keys())

    return downstream


@pytest.mark.parametrize(
    ("since", "until", "days"),
    [
        (at(2, 5), at(2, 7), [2]),
        (at(2, 5), at(4), [2, 3]),
        (at(2), at(3), [2]),
        (None, at(2, 1), [1, 2]),
        (at(9, 23), None, [9, 10]),
        (at(11), at(12), []),
    ],
)
def test_a_range_belongs_to_the_days_that_its_times_touch(instance, upstream, downstream, since, until, days):
    ranged = key("1", since, until)
    instance.add_dynamic_partitions(ORDERS.name, [ranged])
    keys = [f"2026-01-{day:02}" for day in days]
    assert downstream([ranged], ORDERS, DAYS) == keys
    assert upstream([ranged], ORDERS, DAYS) == keys
    for day in DAYS.get_partition_keys():
        assert upstream([day], DAYS, ORDERS) == ([ranged] if day in keys else [])
        assert downstream([day], DAYS, ORDERS) == ([ranged] if day in keys else [])


def test_ranges_of_two_streams_meet_where_their_times_do(instance, upstream):
    orders = [key(f"o{hour}", at(1, hour), at(1, hour + 2)) for hour in (0, 2, 4)]
    visits = [key(f"v{hour}", at(1, hour), at(1, hour + 3)) for hour in (0, 3)]
    instance.add_dynamic_partitions(ORDERS.name, orders)
    instance.add_dynamic_partitions(VISITS.name, visits)
    assert upstream(visits[:1], VISITS, ORDERS) == orders[:2]
    assert upstream(visits[1:], VISITS, ORDERS) == orders[1:]
    assert upstream(orders[:1] + orders[2:], ORDERS, VISITS) == visits


def test_a_key_without_times_may_have_events_of_all_times(instance, upstream):
    old = "2026-01-02T03:04:05.678901Z"
    instance.add_dynamic_partitions(ORDERS.name, [old])
    assert upstream(["2026-01-05"], DAYS, ORDERS) == [old]
    assert times_in("1 of 8") == (None, None)


def test_a_key_names_the_interval_of_the_ledger():
    assert ORDERS.interval(key("1 of 8", at(1), None)).name == "1 of 8"
    assert ORDERS.interval("1 of 8").name == "1 of 8"
    assert key("1 of 8", at(1), None) == "1 of 8 @ 2026-01-01T00:00:00+00:00/.."


def test_days_of_a_schedule_with_gaps_are_found(downstream, instance):
    mondays = dg.WeeklyPartitionsDefinition(start_date="2026-01-04", end_date="2026-02-01")
    weekdays = dg.TimeWindowPartitionsDefinition(
        cron_schedule="0 0 * * *", start="2026-01-01", end="2026-01-11", fmt="%Y-%m-%d"
    )
    instance.add_dynamic_partitions(ORDERS.name, [ranged := key("1", at(5), at(6))])
    assert downstream([ranged], ORDERS, mondays) == ["2026-01-04"]
    assert downstream([ranged], ORDERS, weekdays) == ["2026-01-05"]


def test_processes_without_this_package_read_a_mapping_of_dagster():
    edge = AssetParentEdgeSnap(parent_asset_key=dg.AssetKey("ranges"), partition_mapping=MAPPING)
    stored = serialize_value(edge)
    assert json.loads(stored)["partition_mapping"] == {"__class__": "AllPartitionMapping"}
    read = deserialize_value(stored, AssetParentEdgeSnap)
    assert type(read.partition_mapping) is dg.AllPartitionMapping


def test_what_has_no_event_times_is_refused_when_it_is_loaded():
    def load(of, to):
        @dg.asset(partitions_def=of)
        def first() -> None:
            """Made elsewhere."""

        @dg.asset(partitions_def=to, deps=[dg.AssetDep(first, partition_mapping=MAPPING)])
        def second() -> None:
            """Made of it."""

        dg.Definitions.validate_loadable(dg.Definitions([first, second]))

    load(ORDERS, DAYS)
    load(DAYS, ORDERS)
    load(ORDERS, VISITS)
    plain = StreamCutPartitions("shop/orders", consumer="billing")
    for of, to, message in (
        (plain, DAYS, "have no event times: give their StreamCutPartitions `ahead`"),
        (ORDERS, dg.StaticPartitionsDefinition(["a"]), "StaticPartitionsDefinition has no event times"),
        (DAYS, DAYS, "use dagster.TimeWindowPartitionMapping"),
    ):
        with pytest.raises(dg.DagsterInvalidDefinitionError) as refused:
            load(of, to)
        assert isinstance(refused.value.__cause__, ConfigurationError)
        assert message in str(refused.value.__cause__)


def test_partitions_that_look_ahead_backwards_are_refused():
    with pytest.raises(ConfigurationError, match="cannot be negative"):
        StreamCutPartitions("shop/orders", consumer="billing", ahead=timedelta(seconds=-1))

"""The sensor of late events, without a server: what is refused, the partition of an interval, the tags of a run."""

from datetime import datetime
from zoneinfo import ZoneInfo

import dagster as dg
import pytest

from aiopravega.errors import ConfigurationError
from dagster_pravega import build_late_events_sensor
from dagster_pravega.sensors.late_runs import SearchedAsset

OPTIONS = {"decode": "json", "columns": "at long", "event_time": "at", "event_time_ahead_ms": 5}
DAYS = dg.DailyPartitionsDefinition("2026-01-01", timezone="Europe/Berlin")
REGIONS = dg.MultiPartitionsDefinition({"day": DAYS, "region": dg.StaticPartitionsDefinition(["north"])})
BERLIN = ZoneInfo("Europe/Berlin")


def day_asset(partitions: dg.PartitionsDefinition | None = DAYS) -> dg.AssetsDefinition:
    @dg.asset(partitions_def=partitions)
    def day() -> None: ...

    return day


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"asset": day_asset(None)}, "late events belong to partitions of time"),
        ({"asset": day_asset(REGIONS)}, "claim partitions with two dimensions again by the tag 'pravega/claim'"),
        ({"options": {"decode": "json"}}, "name their column by the option 'event_time'"),
        ({"late": "soon"}, "late is report, collect, rerun, not 'soon'"),
        ({"late": "collect"}, "needs a limit"),
        ({"on_truncated": "wait"}, "on_truncated is fail, skip, not 'wait'"),
    ],
)
def test_sensors_that_cannot_work_are_refused(changed, message):
    arguments = {"stream": "shop/orders", "asset": day_asset(), "options": OPTIONS, "late": "rerun", **changed}
    with pytest.raises(ConfigurationError, match=message):
        build_late_events_sensor("late", **arguments)


def test_an_interval_is_the_partition_with_exactly_its_times():
    searched = SearchedAsset.of(day_asset(), None)
    assert searched.consumer == "dagster/day"
    utc = [datetime(2026, 3, day, tzinfo=BERLIN).astimezone(ZoneInfo("UTC")) for day in (29, 30, 31)]
    assert searched.key_of(*utc[:2]) == "2026-03-29"  # of 23 hours
    assert searched.key_of(utc[0], utc[2]) is None
    assert searched.key_of(datetime(2025, 1, 1, tzinfo=BERLIN), datetime(2025, 1, 2, tzinfo=BERLIN)) is None


def test_a_run_has_the_next_generation_if_the_last_one_has_a_number():
    one, two = dg.AssetKey("one"), dg.AssetKey("two")
    searched = SearchedAsset([one, two], DAYS, "ada")

    def written(instance: dg.DagsterInstance, key: dg.AssetKey, generation: int) -> None:
        metadata = {"pravega/generation": generation}
        instance.report_runless_asset_event(dg.AssetMaterialization(key, partition="2026-01-01", metadata=metadata))

    with dg.DagsterInstance.ephemeral() as instance:
        assert searched.tags_of(instance, "2026-01-01", 2) == {"pravega/claim": "2"}
        written(instance, one, 1)
        written(instance, one, 3)
        assert searched.tags_of(instance, "2026-01-01", 2) == {"pravega/claim": "2", "pravega/rebuild": "4"}
        assert searched.tags_of(instance, "2026-01-02", 2) == {"pravega/claim": "2"}
        written(instance, two, 2)
        with pytest.raises(ConfigurationError, match="have the generations 2, 3 of partition 2026-01-01"):
            searched.tags_of(instance, "2026-01-01", 2)

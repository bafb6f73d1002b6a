"""The sensor of late events, without a server: what is refused, the partition of an interval, the tags of a run."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import dagster as dg
import pytest

from aiopravega import StreamName
from aiopravega.errors import ConfigurationError
from aiopravega.intervals import interval_name
from dagster_pravega import build_late_events_sensor
from dagster_pravega.sensors.late_runs import SearchedAsset
from dagster_pravega.sensors.late_sensor import requested_before
from pravega_jobs.late import LateInterval

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


def late_day(day: int, claim: int = 1) -> tuple[str, LateInterval]:
    since, until = (datetime(2026, 1, each, tzinfo=UTC) for each in (day, day + 1))
    interval = interval_name(since, until)
    return f"2026-01-{day:02}", LateInterval(interval, since, until, claim, True, 1, 1, "first", "last", until)


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (None, ["02", "03", "04", "06", "07", "08"]),
        (dg.BackfillPolicy.single_run(), ["02 to 04", "06", "07 to 08"]),
        (dg.BackfillPolicy.multi_run(2), ["02 to 03", "04", "06", "07 to 08"]),
    ],
)
def test_neighbours_of_one_claim_are_a_run_as_the_policy_allows(policy, expected):
    @dg.asset(partitions_def=dg.DailyPartitionsDefinition("2026-01-01"), backfill_policy=policy)
    def day() -> None: ...

    late = [late_day(8, 2), *map(late_day, (6, 3, 2, 4)), late_day(7, 2)]
    with dg.DagsterInstance.ephemeral() as instance:
        requests = SearchedAsset.of(day, None).requests(instance, StreamName.parse("shop/orders"), late)

    def keys(request: dg.RunRequest) -> str:
        ends = [request.tags.get(f"dagster/asset_partition_range_{end}", "") for end in ("start", "end")]
        return request.partition_key[-2:] if request.partition_key else " to ".join(end[-2:] for end in ends)

    assert [keys(request) for request in requests] == expected
    claims = {keys(request)[:2]: request.tags["pravega/claim"] for request in requests}
    assert (claims["02"], claims["06"], claims["07"]) == ("2", "2", "3")
    assert len({request.run_key for request in requests}) == len(expected)


@pytest.mark.parametrize("cursor", [None, "", "edited by hand", "[1]"])
def test_a_cursor_that_is_not_understood_starts_again(cursor):
    assert requested_before(cursor) == {}


def test_a_cursor_has_the_claims_that_were_requested():
    assert requested_before('{"2026-01-01": 2}') == {"2026-01-01": 2}

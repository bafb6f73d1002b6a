"""Partitions of time are expected soon after their end, and a check says who is late: the runs, or the writers."""

from datetime import timedelta

import dagster as dg
import pytest
from tests.integration.dagster_pravega.days import DAYS, key

from aiopravega.errors import ConfigurationError
from dagster_pravega import PravegaResource, build_partition_freshness_check

HALVES = dg.MultiPartitionsDefinition({"day": DAYS, "half": dg.StaticPartitionsDefinition(["am", "pm"])})


@pytest.fixture(autouse=True)
def running_spark():
    """These tests need no Spark."""


@pytest.fixture
def check(pravega_config, instance):
    """The evaluation of a check of the asset `report`, some partitions of which are materialized."""

    def check(stream, there, partitions=DAYS, **limits):
        for each in there:
            instance.report_runless_asset_event(dg.AssetMaterialization("report", partition=each))
        made = build_partition_freshness_check(
            dg.AssetSpec("report"), stream=str(stream), partitions_def=partitions, **limits
        )
        job = dg.define_asset_job("job", selection=dg.AssetSelection.all_asset_checks())
        definitions = dg.Definitions(
            [dg.AssetSpec("report", partitions_def=partitions)],
            asset_checks=[made],
            resources={"pravega": PravegaResource(controller_uri=pravega_config.controller_uri)},
            jobs=[job],
        )
        result = definitions.resolve_job_def("job").execute_in_process(instance=instance)
        [found] = result.get_asset_check_evaluations()
        return found, {name: entry.value for name, entry in found.metadata.items()}

    return check


def test_a_missing_day_is_overdue_and_the_late_one_is_named(check, timed):
    found, metadata = check(timed, ["2012-12-31", key(1), key(3)], error_after=timedelta(days=1))
    assert (found.passed, found.severity) == (False, dg.AssetCheckSeverity.ERROR)
    assert "3 partitions are overdue, the first is 2013-01-02" in found.description
    assert "not complete yet for 2 of them, and the runs of 1 are late or have failed" in found.description
    assert metadata["pravega/fresh_until"] == "2013-01-02T00:00:00+00:00"
    assert metadata["pravega/overdue_partitions"] == 3
    rows = [(record.data["partition"], record.data["stream"]) for record in metadata["pravega/overdue"].records]
    writers = "complete up to 2013-01-04T00:00:00+00:00"
    assert rows == [("2013-01-02", "complete"), ("2013-01-04", writers), ("2013-01-05", writers)]


def test_a_missing_day_within_the_limit_passes(check, timed):
    found, metadata = check(timed, [], error_after=timedelta(days=365_000))
    assert found.passed
    assert metadata["pravega/fresh_until"] == "2012-12-31T00:00:00+00:00"
    found, metadata = check(timed, [], error_after=timedelta(days=365_000), warn_after=timedelta(1))
    assert (found.passed, found.severity) == (False, dg.AssetCheckSeverity.WARN)


def test_a_day_with_two_partitions_is_there_when_both_are(check, timed):
    days = ["2012-12-31", *map(key, (1, 2, 3, 4, 5))]
    there = [f"{day}|{half}" for day in days for half in ("am", "pm")][:-1]
    found, metadata = check(timed, there, HALVES, error_after=timedelta(1))
    assert not found.passed
    assert [record.data["partition"] for record in metadata["pravega/overdue"].records] == ["2013-01-05"]
    found, _ = check(timed, ["2013-01-05|pm"], HALVES, error_after=timedelta(1))
    assert found.passed


def test_a_stream_without_event_times_is_an_error(check, make_stream):
    found, _ = check(make_stream(), [], error_after=timedelta(1))
    assert (found.passed, found.severity) == (False, dg.AssetCheckSeverity.ERROR)
    assert "has no watermarks" in found.description


def test_a_check_that_can_only_pass_is_refused():
    with pytest.raises(ConfigurationError, match="has no limit"):
        build_partition_freshness_check("report", stream="shop/visits", partitions_def=DAYS)
    with pytest.raises(ConfigurationError, match="no windows of time"):
        build_partition_freshness_check(
            "report",
            stream="shop/visits",
            partitions_def=dg.StaticPartitionsDefinition(["a"]),
            warn_after=timedelta(1),
        )

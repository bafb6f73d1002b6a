"""A check that runs recorded intervals through code again, and compares them with what was written then."""

import dagster as dg
import pytest
from tests.integration.pravega_jobs.replay_job import DAYS, READ, both_days, flights, less, minutes, process

from aiopravega.errors import ConfigurationError
from dagster_pravega import PravegaResource, build_replay_check, pravega_stream_spec

__all__ = ["both_days", "flights", "process"]
WRITTEN = {"write_id": "delays {interval}", "key": "id", "options": READ}


@pytest.fixture
def evaluate(scope, flights, instance, pravega_config):
    """Runs a check of the output, and gives its evaluation with its metadata."""

    def evaluate(code, **arguments):
        spec = pravega_stream_spec(f"{scope}/delays")
        given = {"consumer": "delays", "compare_with": f"{scope}/delays", **WRITTEN, **arguments}
        check = build_replay_check(spec, stream=str(flights), code=code, **given)
        resources = {"pravega": PravegaResource(controller_uri=pravega_config.controller_uri)}
        job = dg.define_asset_job("job", selection=dg.AssetSelection.checks(check))
        found = dg.Definitions(assets=[spec], asset_checks=[check], jobs=[job], resources=resources)
        [done] = found.resolve_job_def("job").execute_in_process(instance=instance).get_asset_check_evaluations()
        return done, {name: entry.value for name, entry in done.metadata.items()}

    return evaluate


def test_without_an_interval_that_is_done_the_check_warns(evaluate):
    done, _ = evaluate(minutes)
    assert (done.passed, done.severity) == (False, dg.AssetCheckSeverity.WARN)
    assert "has no interval that is done" in done.description


@pytest.mark.usefixtures("both_days")
def test_the_last_intervals_are_compared_with_what_was_written(evaluate):
    done, metadata = evaluate(minutes, last=2)
    assert done.passed
    assert [each.data["interval"] for each in metadata["pravega/replayed"].records] == DAYS
    done, metadata = evaluate(less)
    assert (done.passed, done.severity) == (False, dg.AssetCheckSeverity.ERROR)
    assert done.description.startswith("different: ")
    [day] = metadata["pravega/replayed"].records
    assert (day.data["interval"], day.data["removed"]) == (DAYS[1], 1)
    assert "1 removed" in metadata["pravega/replay"]
    assert evaluate(minutes, intervals=DAYS[:1], severity=dg.AssetCheckSeverity.WARN)[0].passed


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"last": 0}, "must be 1 or more"),
        ({"last": 2, "intervals": DAYS}, "leave one of them out"),
        ({"store_key": "store"}, "name it by compare_with"),
        ({"compare_with": "nothing:/there"}, "nothing"),
    ],
    ids=str,
)
def test_what_cannot_be_replayed_is_refused_when_it_is_loaded(more, said):
    with pytest.raises(ConfigurationError, match=said):
        build_replay_check(dg.AssetKey("delays"), stream="shop/flights", consumer="delays", code=minutes, **more)

"""The check of a job of Flink, asked of a real Flink: a job that runs, restarts, is canceled, and a dead cluster."""

import shutil
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import dagster as dg
import pytest
from tests.faults.process import wait_until
from tests.java.flink import Flink, Source
from tests.system.servers import free_ports

from dagster_pravega import HttpServiceResource, build_flink_job

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
RESTART = "flink run --detached enrich.jar"


@pytest.fixture
def flink(tmp_path):
    with Flink(free_ports(1)[0], tmp_path) as running:
        yield running


@pytest.fixture
def source():
    with closing(Source()) as source:
        yield source


@pytest.fixture
def check(flink):
    """The evaluation of the check of a job, with its metadata."""
    service = HttpServiceResource(uri=flink.uri)
    job = dg.define_asset_job("job", selection=dg.AssetSelection.all_asset_checks())

    def check(name: str, **limits: Any) -> tuple[dg.AssetCheckEvaluation, dict[str, Any]]:
        made = build_flink_job("enrich", job=name, restart=RESTART, **limits)
        whole = dg.Definitions.merge(made, dg.Definitions(resources={"flink": service}, jobs=[job]))
        [found] = whole.resolve_job_def("job").execute_in_process().get_asset_check_evaluations()
        return found, {key: entry.value for key, entry in found.metadata.items()}

    return check


def test_the_check_says_what_a_real_job_does(flink, source, check):
    missing, _ = check("enrich")
    assert missing.description == (
        f"it is MISSING: the cluster has no job, and not 'enrich'. To start it again: {RESTART}"
    )

    jid = flink.submit("enrich", source)
    source.accept()

    def passes(**limits: Any) -> bool:
        return bool(check("enrich", **limits)[0].passed)

    young = timedelta(minutes=10)
    wait_until(lambda: passes(max_commit_age=young), lambda: str(check("enrich")), every=0.5)
    found, metadata = check(jid, max_commit_age=young)
    assert (found.passed, metadata["state"], metadata["job_id"]) == (True, "RUNNING", jid)
    checkpoint = Path(urlsplit(metadata["checkpoint"]).path)  # of which Flink keeps the last one
    assert (checkpoint.parent.is_dir(), checkpoint.name[:4]) == (True, "chk-")
    assert 0 <= metadata["last_commit_age_seconds"] < 600
    assert "no checkpoint since" in check("enrich", max_commit_age=timedelta())[0].description

    source.break_off()
    seen: list[tuple[dg.AssetCheckEvaluation, dict[str, Any]]] = []

    def is_broken() -> bool:
        seen.append(check("enrich"))
        # Flink's answers about failures may be three seconds old, and a job that begins again is RUNNING for a moment.
        return not seen[-1][0].passed and "reason" in seen[-1][1]

    wait_until(is_broken, lambda: str(seen[-1]), every=0.2)
    broken, metadata = seen[-1]
    assert metadata["state"] in ("RESTARTING", "FAILING", "CREATED", "INITIALIZING")
    assert "java.net." in metadata["reason"]
    assert f"it is {metadata['state']}: {metadata['reason']}. To start it again: {RESTART}" == broken.description
    source.open()
    source.accept()
    wait_until(passes, lambda: str(check("enrich")), every=0.2)
    assert "java.net." in check("enrich")[1]["reason"]  # the last failure

    with closing(Source()) as another:
        flink.submit("enrich", another)
        another.accept()
        twice, _ = check("enrich")
        assert "2 jobs of http://127.0.0.1" in twice.description
        assert jid in twice.description
        flink.cancel("enrich")
        wait_until(passes, lambda: str(check("enrich")), every=0.2)

    flink.kill()
    gone, _ = check("enrich")
    assert gone.description.startswith("PravegaConnectionError: cannot ask http://127.0.0.1")
    assert gone.description.endswith(RESTART)


def test_checkpoints_that_fail_are_counted(flink, source, check, tmp_path):
    flink.submit("enrich", source)
    source.accept()
    wait_until(lambda: "last_commit" in check("enrich")[1], lambda: str(check("enrich")), every=0.5)
    checkpoints = tmp_path / "checkpoints"
    shutil.rmtree(checkpoints)
    checkpoints.write_text("no folder")
    wait_until(lambda: check("enrich")[1].get("failed_commits", 0) > 0, lambda: str(check("enrich")), every=0.5)

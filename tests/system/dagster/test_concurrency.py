"""A backfill under a run queue with limits is canceled and resumed: each range is written once, one run at a time."""

from pathlib import Path

import pytest
from tests.pages.blocks import blocks_of
from tests.system.dagster.components import Components

from aiopravega import StreamName

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600), pytest.mark.xdist_group("dagster_processes")]

SCOPE = "dagster-limited"
LOCATION = "limited"
PARTS = 6
# The limits of the how-to page.
[LIMITS] = [block.code for block in blocks_of("dagster-partitions") if block.language == "yaml"]
UNDER_WAY = ["QUEUED", "NOT_STARTED", "STARTING", "STARTED", "CANCELING"]


def test_a_canceled_backfill_is_resumed_and_writes_each_range_once(pravega_config, tmp_path, client, contents):
    client.create_scope(SCOPE)
    for name in ("rides", "copies"):
        client.create_stream(f"{SCOPE}/{name}")
    written = [f"ride {number:03}" for number in range(60)]
    with client.writer(f"{SCOPE}/rides") as writer:
        writer.write_many([event.encode() for event in written])
    environment = {"PRAVEGA_CONTROLLER_URI": pravega_config.controller_uri}
    locations = {LOCATION: Path(__file__).with_name("limited.py")}
    with Components(tmp_path, locations, environment, concurrency=LIMITS) as dagster:
        graphql, gate, waiting = dagster.graphql, dagster.home / "gate", dagster.home / "waiting"
        config = {"ops": {"plan": {"config": {"start": "earliest", "end": "latest", "parts": PARTS}}}}
        graphql.wait_for_run(graphql.launch(LOCATION, "plan", config))
        keys = graphql.partitions("copies")
        assert len(keys) == PARTS
        [first] = graphql.wait_for_backfill(graphql.backfill(keys[:1], "copies"))
        assert first["status"] == "SUCCESS"

        gate.touch()
        canceled = graphql.backfill(keys, "copies")
        graphql.wait(waiting.exists, "a run is at work")
        of_backfill = [{"key": "dagster/backfill", "value": canceled}]
        graphql.wait(lambda: len(graphql.runs(tags=of_backfill)) == PARTS, "all runs are requested")
        assert len(graphql.runs(tags=of_backfill, statuses=["STARTED"])) == 1, "the pool takes one run"
        graphql.cancel_backfill(canceled)
        graphql.wait(lambda: graphql.backfill_status(canceled) == "CANCELED", "the backfill is canceled")
        assert graphql.runs(tags=of_backfill, statuses=UNDER_WAY) == []
        gate.unlink()

        resumed = graphql.resume_backfill(canceled)
        runs = graphql.wait_for_backfill(resumed)
        assert {run["status"] for run in runs} == {"SUCCESS"}
        failed = [run for run in graphql.runs() if run["status"] == "FAILURE"]
        assert failed == [], "two runs were at work at once"
    assert contents(SCOPE, "copies") == written
    records = client.cut_ledger(SCOPE).records("limited", StreamName(SCOPE, "rides"))
    assert all(record.is_done for record in records)

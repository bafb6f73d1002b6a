"""The check of a Debezium Server, asked of a real one: while it runs, is away, and while nothing is written."""

from datetime import timedelta
from typing import Any

import dagster as dg
import pytest
from tests.faults.process import wait_until
from tests.system.cdc.postgresql import PostgreSQL
from tests.system.cdc.shop import Shop
from tests.system.cdc.tables import EXTRAS

from dagster_pravega import HttpServiceResource, LandingDatabase, PravegaResource, build_debezium_server

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3000), pytest.mark.xdist_group("cdc")]
RESTART = "systemctl restart debezium"


@pytest.fixture
def check(shop: Shop):
    """The evaluation of the check of the shop's Debezium, with its metadata."""
    resources: dict[str, Any] = {
        "pravega": PravegaResource(controller_uri=shop.config.controller_uri),
        "debezium": HttpServiceResource(uri=f"http://127.0.0.1:{shop.debezium.settings['quarkus.http.port']}"),
    }
    slot: dict[str, Any] = {}
    if isinstance(shop.database, PostgreSQL):
        resources["database"] = LandingDatabase(dsn=shop.database.dsn)
        slot = {"slot": "debezium", "database_key": "database", "max_lag_bytes": 1_000_000_000}
    streams = [str(stream) for stream in shop.streams.values()]
    job = dg.define_asset_job("job", selection=dg.AssetSelection.all_asset_checks())

    def check(**limits: Any) -> tuple[dg.AssetCheckEvaluation, dict[str, Any]]:
        made = build_debezium_server("debezium", streams=streams, restart=RESTART, **{**slot, **limits})
        whole = dg.Definitions.merge(made, dg.Definitions(resources=resources, jobs=[job]))
        [found] = whole.resolve_job_def("job").execute_in_process().get_asset_check_evaluations()
        return found, {key: entry.value for key, entry in found.metadata.items()}

    return check


def test_the_check_says_what_a_real_debezium_does(shop: Shop, check):
    shop.moment(EXTRAS)  # something is written
    found, metadata = check(max_commit_age=timedelta(hours=1))
    assert (found.passed, found.description) == (True, "Debezium Server runs")
    assert metadata["state"] == "UP"
    assert 0 <= metadata["last_commit_age_seconds"] < 3600
    if isinstance(shop.database, PostgreSQL):
        assert metadata["slot_is_read"] is True
        assert metadata["slot_log"] == "reserved"
    assert "no write to its streams since" in check(max_commit_age=timedelta())[0].description

    shop.debezium.kill()
    gone, _ = check()
    assert gone.description.startswith("PravegaConnectionError: cannot ask http://127.0.0.1")
    assert gone.description.endswith(RESTART)
    shop.debezium.start()
    wait_until(lambda: bool(check()[0].passed), lambda: str(check()), every=0.5)
    shop.moment(EXTRAS)


def test_a_slot_that_a_real_postgresql_lacks_is_named(shop: Shop, check):
    if not isinstance(shop.database, PostgreSQL):
        pytest.skip("MariaDB has no replication slots")
    found, _ = check(slot="another")
    assert found.description == (f"the database has no replication slot 'another'. To start it again: {RESTART}")
    shop.database.run("select pg_create_logical_replication_slot('idle', 'pgoutput')")
    idle, metadata = check(slot="idle")
    shop.database.run("select pg_drop_replication_slot('idle')")
    assert metadata["slot_is_read"] is False
    assert "nobody reads the replication slot 'idle', and the database keeps its log" in idle.description

"""The pictures of docs/how-to that show Airflow, taken of real components: python -m tests.system.airflow.pictures."""

import json
import tempfile
from datetime import timedelta
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from tests.system.airflow.browser import Browser
from tests.system.airflow.components import Components
from tests.system.airflow.postgres import Postgres
from tests.system.servers import free_ports

from aiopravega import ScalingPolicy
from aiopravega.blocking import PravegaClient
from pravega_emulator import PravegaEmulator

_DAGS: Final = Path(__file__).with_name("dags")
_DOCS: Final = Path(__file__).resolve().parents[3] / "docs" / "how-to"
_DEFERRED, _BACKFILLED, _WATCHED = "killed_rides", "backfilled_rides", "watched_rides"


def _prepare(airflow: Components, client: PravegaClient) -> str:
    """A sensor that waits, a backfill of which two runs wait, and a stream that starts runs; the sensor's run."""
    for scope in ("system-kills", "system-backfill", "system-watched"):
        client.create_scope(scope)
        patience = timedelta(minutes=5)
        client.create_stream(scope, "rides", ScalingPolicy.fixed(2), timestamp_aggregation_timeout=patience)
    api = airflow.api
    api.unpause(_DEFERRED, _BACKFILLED, _WATCHED)
    run_id = api.trigger(_DEFERRED)
    dates = ["--from-date", "2013-01-01", "--to-date", "2013-01-04"]
    airflow.run("backfill", "create", "--dag-id", _BACKFILLED, *dates, "--run-backwards", "--max-active-runs", "2")
    with client.writer("system-watched", "rides") as writer:
        writer.write(b"a ride")
    api.wait_for_run(_WATCHED, api.only_run(_WATCHED))
    api.wait_for_task(_DEFERRED, run_id, "wait", "deferred")

    def waiting() -> int:
        runs = [run["dag_run_id"] for run in api.all_runs(_BACKFILLED) if run["run_type"] == "backfill"]
        return [api.task(_BACKFILLED, each, "wait")["state"] for each in runs].count("deferred")

    api.wait(lambda: waiting() == 2, "two runs of the backfill wait")
    return run_id


def _take(browser: Browser, root: str, airflow: Components, run_id: str) -> None:
    def picture(name: str, path: str, text: str) -> None:
        browser.open(f"{root}/{path}")
        browser.wait_for(text)
        browser.picture(_DOCS / f"airflow-{name}.png")

    browser.open(f"{root}/auth/token/login")
    browser.wait_for("Dags")
    picture("deferred", f"dags/{_DEFERRED}/runs/{run_id}/tasks/wait", "Trigger class")
    picture("backfill", f"dags/{_BACKFILLED}/tasks/wait", "Deferred")
    [asset] = airflow.api.request("GET", "assets", params={"uri_pattern": "pravega://system-watched/rides"})["assets"]
    picture("asset", f"assets/{asset['id']}", _WATCHED)
    browser.open(f"{root}/connections")
    browser.click("Add Connection")
    browser.click("Select Connection Type", "input, [role=combobox], div")
    browser.click("pravega")
    browser.wait_for("Controller host")
    browser.picture(_DOCS / "airflow-connection.png")


def main() -> None:
    """Start all, and take the pictures."""
    with PravegaEmulator() as server, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        uri = urlsplit(server.controller_uri)
        connection = json.dumps({"conn_type": "pravega", "host": uri.hostname, "port": uri.port})
        with (
            Postgres(free_ports(1)[0], folder / "postgres.log") as database,
            Components(folder, database, _DAGS, {"pravega_default": connection}) as airflow,
            PravegaClient(server.config) as client,
            Browser() as browser,
        ):
            run_id = _prepare(airflow, client)
            _take(browser, airflow.api.address, airflow, run_id)


if __name__ == "__main__":
    main()

"""Pictures of Airflow's pages: a connection, a deferred sensor, assets, a backfill, and the provider's own page."""

import json
import random
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final
from urllib.parse import quote, urlsplit

from tests.faults.process import ROOT
from tests.system.airflow.components import Components
from tests.system.airflow.postgres import Postgres
from tests.system.pictures.browser import Browser
from tests.system.servers import free_ports

from aiopravega import PravegaConfig, ScalingPolicy
from aiopravega.blocking import PravegaClient
from pravega_emulator import PravegaEmulator

OF: Final = ROOT / "docs" / "how-to"
DAGS: Final = Path(__file__).with_name("airflow_dags")
SCOPE, STREAM, TOTALS = "plant", "readings", "totals"
FIRST: Final = datetime(2026, 1, 1, tzinfo=UTC)
COMPLETE: Final = 3  # days, of those that are back-filled
DAYS: Final = 6


def fill(client: PravegaClient) -> None:
    """Write readings of some days, and note that those before are complete."""
    chance = random.Random(1)
    client.create_scope(SCOPE)
    patience = timedelta(minutes=10)
    client.create_stream(f"{SCOPE}/{STREAM}", ScalingPolicy.fixed(2), timestamp_aggregation_timeout=patience)
    client.create_stream(f"{SCOPE}/{TOTALS}", ScalingPolicy.fixed(1))
    client.note_time(f"{SCOPE}/{STREAM}", "plant", FIRST)
    next(iter(client.watermarks(f"{SCOPE}/{STREAM}", follow=True)))
    write(client, chance, 60)
    client.note_time(f"{SCOPE}/{STREAM}", "plant", FIRST + timedelta(days=COMPLETE))


def write(client: PravegaClient, chance: random.Random, count: int) -> None:
    """Write some readings."""
    with client.writer(f"{SCOPE}/{STREAM}") as writer:
        for _ in range(count):
            sensor = f"sensor-{chance.randrange(8)}"
            writer.write(json.dumps({"sensor": sensor, "value": round(chance.random(), 3)}).encode(), sensor)


@contextmanager
def processes(dags: Path, before: Callable[[PravegaClient], None]) -> Iterator[tuple[Components, PravegaClient]]:
    """Airflow's components, once a stream is filled."""
    with PravegaEmulator() as emulator, tempfile.TemporaryDirectory() as folder:
        home = Path(folder, "airflow")
        home.mkdir()
        uri = urlsplit(emulator.controller_uri)
        connection = json.dumps({"conn_type": "pravega", "host": uri.hostname, "port": uri.port})
        with (
            PravegaClient(PravegaConfig(controller_uri=emulator.controller_uri)) as client,
            Postgres(free_ports(1)[0], Path(folder, "postgres.log")) as database,
        ):
            before(client)
            with Components(home, database, dags, {"pravega_default": connection}) as airflow:
                yield airflow, client


def take() -> None:
    """Start Airflow, let a stream start runs and a backfill wait, and take the pictures."""
    with Browser() as browser, processes(DAGS, fill) as (airflow, client):
        work(airflow, client)
        pictures(airflow, browser)


def work(airflow: Components, client: PravegaClient) -> None:
    """One run that the stream has started is done, the next one waits; and so does a part of a backfill."""
    api = airflow.api
    api.unpause("totals_reported")
    api.wait_for_run("readings_totals", api.only_run("readings_totals"))
    write(client, random.Random(2), 5)
    api.wait(lambda: len(api.runs("readings_totals")) > 1, "the stream has started a second run")
    api.wait_for_task("readings_totals", api.runs("readings_totals")[-1], "wait", "deferred")

    api.unpause("readings_daily")
    dates = ["--from-date", f"{FIRST:%Y-%m-%d}", "--to-date", f"{FIRST + timedelta(days=DAYS - 1):%Y-%m-%d}"]
    airflow.run("backfill", "create", "--dag-id", "readings_daily", *dates, "--max-active-runs", "2")

    def states() -> list[str]:
        return [run["state"] for run in api.all_runs("readings_daily")]

    api.wait(lambda: states().count("success") == COMPLETE and states().count("running") == 2, "a part is done")
    api.add_connection(
        "pravega_production",
        "pravega",
        host="pravega.example.org",
        port=9090,
        login="analytics",
        password="secret",
        extra=json.dumps({"tls": True, "ca_file": "/etc/pravega/ca.pem", "scope": SCOPE}),
    )


def pictures(airflow: Components, browser: Browser) -> None:
    """Take them all."""
    api = airflow.api
    browser.open(f"{api.address}/auth/token/login")
    browser.open(f"{api.address}/connections")
    browser.click(
        "//tr[contains(., 'pravega_production')]//button[@aria-label='Edit Connection' or @title='Edit Connection']"
    )
    browser.see("//*[contains(text(), 'Controller host')]")
    browser.picture(OF / "airflow-connection.png")

    run_id = quote(api.runs("readings_totals")[-1], safe="")
    browser.open(f"{api.address}/dags/readings_totals/runs/{run_id}/tasks/wait")
    browser.see("//*[contains(text(), 'eferred')]")
    browser.picture(OF / "airflow-deferred.png")

    [asset] = api.request("GET", "assets", params={"uri_pattern": f"pravega://{SCOPE}/{STREAM}"})["assets"]
    browser.open(f"{api.address}/assets/{asset['id']}")
    browser.see("//*[contains(text(), 'readings_totals')]")
    browser.picture(OF / "airflow-assets.png")

    browser.open(f"{api.address}/dags/readings_daily")
    browser.see("//*[contains(text(), 'process')]")
    browser.picture(OF / "airflow-backfill.png")

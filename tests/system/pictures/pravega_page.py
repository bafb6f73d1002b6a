"""Pictures of the page "Pravega" in Airflow's API server: 200 consumers, one consumer, and the way to them."""

import json
import tempfile
from pathlib import Path
from typing import Final
from urllib.parse import quote, urlsplit

from benchmarks.page import CONSUMERS, fill
from tests.faults.process import ROOT
from tests.system.airflow.components import API_SERVER, Components
from tests.system.airflow.postgres import Postgres
from tests.system.pictures.browser import Browser
from tests.system.servers import free_ports

from aiopravega import PravegaConfig, SegmentId, StreamCut, StreamCutRange, StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.ledger import Interval
from pravega_emulator import PravegaEmulator

OF: Final = ROOT / "docs" / "how-to"
SCOPE: Final = "plant"
INTERVALS: Final = 75
_LIST: Final = f"pravega_default?scope={SCOPE}"
_STREAM: Final = quote(f"{SCOPE}/readings-00", safe="")
# The pages below that of the plugin, and a word that they have.
PAGES: Final = {
    "airflow-page": (_LIST, f"{CONSUMERS + 1} consumers"),
    "airflow-page-home": ("", "pravega_default"),
    "airflow-page-scopes": ("pravega_default", SCOPE),
    "airflow-page-consumer": (
        f"pravega_default/consumer?stream={_STREAM}&consumer=totals_000%2Fwait",
        "Intervals over time",
    ),
    "airflow-page-stream": (f"pravega_default/stream?stream={_STREAM}", "from head to tail"),
}
# Pictures that the documentation shows; the others are for a review.
SHOWN: Final = {"airflow-page.png", "airflow-page-dark.png", "airflow-page-consumer.png"}


def lose_a_stream(client: PravegaClient) -> None:
    """Record an interval of a stream that there is not: one of the 201 consumers cannot be asked."""
    gone = StreamName(SCOPE, "removed")
    cut = StreamCut(gone, {SegmentId(gone, 0, 0): 0})
    client.cut_ledger(SCOPE).claim(Interval("audit/wait", gone, "2026-01-01"), StreamCutRange(cut, cut), by="audit")


def take(to: Path | None = None) -> None:
    """Start Airflow's API server, record intervals, and take the pictures; those that are not shown go to a folder."""
    with PravegaEmulator() as emulator, tempfile.TemporaryDirectory() as folder:
        with PravegaClient(PravegaConfig(controller_uri=emulator.controller_uri)) as client:
            client.run(fill(client.asynchronous, SCOPE, CONSUMERS, INTERVALS))
            lose_a_stream(client)
        uri = urlsplit(emulator.controller_uri)
        connection = json.dumps({"conn_type": "pravega", "host": uri.hostname, "port": uri.port})
        home = Path(folder, "airflow")
        home.mkdir()
        with Postgres(free_ports(1)[0], Path(folder, "postgres.log")) as database, Browser() as browser:
            airflow = Components(home, database, home, {"pravega_default": connection})
            try:
                airflow.run("db", "migrate")
                airflow.start(API_SERVER)
                browser.open(f"{airflow.api.address}/auth/token/login")
                for theme in ("light", "dark"):
                    browser.run(f"localStorage.setItem('theme', '{theme}')")
                    for name, (page, sign) in PAGES.items():
                        browser.open(f"{airflow.api.address}/pravega/{page}")
                        browser.see(f"//*[contains(text(), '{sign}')]")
                        file = f"{name}.png" if theme == "light" else f"{name}-dark.png"
                        if file in SHOWN:
                            browser.picture(OF / file)
                        elif to is not None:
                            browser.picture(to / file)
            finally:
                airflow.end()

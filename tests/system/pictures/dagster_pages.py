"""Pictures of Dagster's pages: ranges of a stream as partitions, and a backfill of them."""

import json
import random
import tempfile
from pathlib import Path
from typing import Final

from tests.faults.process import ROOT
from tests.system.dagster.components import Components
from tests.system.pictures.browser import Browser
from tests.system.pictures.dagster_readings import CONSUMER, STREAM, TOTALS

from aiopravega import PravegaConfig, ScalingPolicy, StreamCutRange, StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.ledger import Interval
from pravega_emulator import PravegaEmulator

LOCATION: Final = "readings"
RANGES: Final = 12
OF: Final = ROOT / "docs" / "how-to"
# The pages, and what shows that one is there.
PAGES: Final = {
    "dagster-graph": ("/locations/{location}/asset-groups/default/lineage", "//*[text()='readings_counted']"),
    "dagster-partitions": (
        "/assets/plant/totals?view=partitions&partition={partition}",
        "//*[text()='pravega/segment_ranges']",
    ),
    "dagster-asset": ("/assets/plant/totals?view=overview", "//*[text()='pravega/events']"),
    "dagster-checks": ("/assets/plant/totals?view=checks", "//canvas"),
    "dagster-backfill": ("/runs/b/{backfill}", "//*[contains(text(), 'completed')]"),
}


def fill(config: PravegaConfig) -> list[str]:
    """Write readings, and record ranges of them; their names."""
    stream = StreamName.parse(STREAM)
    chance = random.Random(1)
    with PravegaClient(config) as client:
        client.create_scope(stream.scope)
        for name in (STREAM, TOTALS):
            client.create_stream(name, ScalingPolicy.fixed(2))
        ledger = client.cut_ledger(stream.scope)
        ledger.create()
        tail, names = client.tail(stream), []
        for number in range(RANGES):
            with client.writer(stream) as writer:
                for _ in range(chance.randrange(400, 1200)):
                    sensor = f"sensor-{chance.randrange(8)}"
                    writer.write(json.dumps({"sensor": sensor, "value": chance.random()}).encode(), routing_key=sensor)
            start, tail = tail, client.tail(stream)
            interval = Interval(CONSUMER, stream, f"2026-01-{number + 1:02}")
            ledger.claim(interval, StreamCutRange(start, tail), number=number)
            names.append(interval.name)
    return names


def take() -> None:
    """Fill a stream, run a backfill, and take the pictures."""
    with PravegaEmulator() as emulator, tempfile.TemporaryDirectory() as folder:
        names = fill(PravegaConfig(controller_uri=emulator.controller_uri))
        files = {LOCATION: Path(__file__).with_name("dagster_readings.py")}
        with Components(Path(folder), files, {"PRAVEGA_CONTROLLER_URI": emulator.controller_uri}) as dagster:
            for name in names:
                dagster.graphql.add_partition(LOCATION, f"pravega {STREAM} {CONSUMER}", name)
            backfill = dagster.graphql.backfill(names, *TOTALS.split("/"))
            dagster.graphql.wait_for_backfill(backfill)
            dagster.graphql.ask("mutation { setNuxSeen }")  # else an invitation covers each page
            with Browser((1400, 1040)) as browser:
                for name, (page, sign) in PAGES.items():
                    filled = page.format(location=LOCATION, backfill=backfill, partition=names[-1])
                    browser.open(dagster.graphql.url + filled)
                    browser.see(sign)
                    browser.picture(OF / f"{name}.png")
                browser.open(f"{dagster.graphql.url}/assets/{TOTALS}?view=overview")
                browser.click("//button[contains(., 'Plots')]")
                browser.see("//canvas")
                browser.run("document.querySelector('canvas').parentElement.parentElement.scrollIntoView()")
                browser.picture(OF / "dagster-plots.png")

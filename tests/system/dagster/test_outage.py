"""A server is away for minutes: ticks are skipped and name its host, and continue when it is back."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest
from tests.system.dagster.components import Components
from tests.system.dagster.conftest import DEFINITIONS

from aiopravega import UNBOUNDED, PravegaConfig, ScalingPolicy, StreamCutRange, StreamName
from aiopravega.blocking import PravegaClient
from pravega_emulator import DurablePravega, PravegaEmulator

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600), pytest.mark.xdist_group("dagster_processes")]

STREAM = StreamName("dagster-outage", "rides")
SENSOR = ("streams", "dagster_outage_ranges")
SILENT_SECONDS = 90.0
AWAY_SECONDS = 180.0


def test_ticks_skipped_while_a_server_is_stopped_lose_and_double_nothing(tmp_path):
    with PravegaEmulator(heap_megabytes=1024) as server:
        address = urlsplit(server.config.controller_uri)
        process = _listening_on(address.port)

        @contextmanager
        def stopped() -> Iterator[None]:
            process.suspend()
            try:
                yield
            finally:
                process.resume()

        reasons = _copied_through(server.config, tmp_path, stopped, SILENT_SECONDS)
        assert all(f"{address.hostname}:" in reason for reason in reasons)


def test_ticks_skipped_without_a_segment_store_lose_and_double_nothing(tmp_path):
    """The controller lives, but what it is asked it asks the segment store: it does not answer in time either."""
    data = tmp_path / "cluster"
    data.mkdir()
    with DurablePravega(data=data) as cluster:
        ports = json.loads((data / "ports.json").read_text())
        store, controller = (f":{ports[name]}" for name in ("segmentstore", "controller"))

        @contextmanager
        def killed() -> Iterator[None]:
            cluster.kill("segmentstore")
            try:
                yield
            finally:
                cluster.restart("segmentstore")
                cluster.wait_ready()

        reasons = _copied_through(cluster.config, tmp_path, killed, AWAY_SECONDS)
        assert all(store in reason or controller in reason for reason in reasons), reasons


def _listening_on(port):
    """The process of an embedded server: controller and segment store are one."""
    [pid] = {
        each.pid
        for each in psutil.net_connections(kind="tcp")
        if each.status == psutil.CONN_LISTEN and each.laddr and each.laddr.port == port
    }
    return psutil.Process(pid)


def _copied_through(
    config: PravegaConfig, folder: Path, away: Callable[[], AbstractContextManager[None]], seconds: float
) -> list[str]:
    """Copy ranges by a sensor before and after an outage; the reasons of the ticks that were skipped amid it."""
    environment = {"PRAVEGA_CONTROLLER_URI": config.controller_uri}
    with (
        PravegaClient(config) as client,
        Components(folder, {"streams": DEFINITIONS / "streams.py"}, environment) as dagster,
    ):
        graphql = dagster.graphql
        assert client.create_scope(STREAM.scope)
        for name in ("rides", "copies"):
            assert client.create_stream(f"{STREAM.scope}/{name}", ScalingPolicy.fixed(2))

        def write(text):
            with client.writer(f"{STREAM.scope}/rides") as writer:
                writer.write_many([f"{text} {number}".encode() for number in range(5)])

        def copied():
            whole = StreamCutRange(UNBOUNDED, UNBOUNDED)
            return sorted(event.data.decode() for event in client.read(whole, StreamName(STREAM.scope, "copies")))

        write("before")
        graphql.start_sensor(*SENSOR)
        graphql.wait(lambda: len(copied()) == 5, "the first range is copied")
        ours = [{"key": "pravega/stream", "value": str(STREAM)}]
        graphql.wait(lambda: graphql.runs(tags=ours)[0]["status"] == "SUCCESS", "its run has ended")

        with away():
            threading.Event().wait(seconds)  # the outage itself: how long it lasts is what is tested
            ticks = graphql.ticks(*SENSOR)
        skipped = [tick for tick in ticks if "the cluster cannot be asked now" in (tick["skipReason"] or "")]
        assert len(skipped) > 1
        assert not [tick for tick in ticks if tick["status"] == "FAILURE"]

        write("after")
        expected = sorted(f"{text} {number}" for text in ("before", "after") for number in range(5))
        graphql.wait(lambda: copied() == expected, "the rides after the outage are copied")
        records = client.cut_ledger(STREAM.scope).records("copies", STREAM)
        assert records[-1].range.end == client.tail(f"{STREAM.scope}/rides")
        return [tick["skipReason"] for tick in skipped]

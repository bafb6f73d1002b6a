"""The server is stopped for minutes: ticks are skipped and name its host, and continue when it is back."""

import threading
from urllib.parse import urlsplit

import psutil
import pytest
from tests.system.dagster.components import Components
from tests.system.dagster.conftest import DEFINITIONS

from aiopravega import UNBOUNDED, ScalingPolicy, StreamCutRange, StreamName
from aiopravega.blocking import PravegaClient
from pravega_emulator import PravegaEmulator

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600), pytest.mark.xdist_group("dagster_processes")]

STREAM = StreamName("dagster-outage", "rides")
SENSOR = ("streams", "dagster_outage_ranges")
OUTAGE_SECONDS = 90.0


def test_ticks_are_skipped_while_the_server_is_stopped_and_nothing_is_lost_or_doubled(tmp_path):
    with PravegaEmulator(heap_megabytes=1024) as server:
        environment = {"PRAVEGA_CONTROLLER_URI": server.config.controller_uri}
        with Components(tmp_path, {"streams": DEFINITIONS / "streams.py"}, environment) as dagster:
            _sleep_through(server, dagster)


def _listening_on(port):
    """The server's process: controller and segment store are one."""
    [pid] = {
        each.pid
        for each in psutil.net_connections(kind="tcp")
        if each.status == psutil.CONN_LISTEN and each.laddr and each.laddr.port == port
    }
    return psutil.Process(pid)


def _sleep_through(server, dagster):
    graphql = dagster.graphql
    address = urlsplit(server.config.controller_uri)
    process = _listening_on(address.port)
    with PravegaClient(server.config) as client:
        assert client.create_scope(STREAM.scope)
        for name in ("rides", "copies"):
            assert client.create_stream(STREAM.scope, name, ScalingPolicy.fixed(2))

        def write(text):
            with client.writer(STREAM.scope, "rides") as writer:
                writer.write_many([f"{text} {number}".encode() for number in range(5)])

        def copied():
            whole = StreamCutRange(UNBOUNDED, UNBOUNDED)
            return sorted(event.data.decode() for event in client.read(whole, StreamName(STREAM.scope, "copies")))

        write("before")
        graphql.start_sensor(*SENSOR)
        graphql.wait(lambda: len(copied()) == 5, "the first range is copied")

        process.suspend()
        try:
            threading.Event().wait(OUTAGE_SECONDS)  # the outage itself: how long it lasts is what is tested
            ticks = graphql.ticks(*SENSOR)
        finally:
            process.resume()
        skipped = [tick for tick in ticks if "the cluster cannot be asked now" in (tick["skipReason"] or "")]
        assert len(skipped) > 1
        assert all(f"{address.hostname}:" in tick["skipReason"] for tick in skipped)
        assert not [tick for tick in ticks if tick["status"] == "FAILURE"]

        write("after")
        expected = sorted(f"{text} {number}" for text in ("before", "after") for number in range(5))
        graphql.wait(lambda: copied() == expected, "the rides after the outage are copied")
        records = client.cut_ledger(STREAM.scope).records("copies", STREAM)
        assert records[-1].range.end == client.tail(STREAM.scope, "rides")

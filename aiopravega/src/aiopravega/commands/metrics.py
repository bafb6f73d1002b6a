"""The command `pravega metrics`: numbers about scopes for Prometheus, once or by HTTP; needs the extra `metrics`."""

import asyncio
import dataclasses
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from aiopravega.client import PravegaClient
from aiopravega.commands.common import SCOPES, Option, Options, scopes_of, verb
from aiopravega.commands.grammar import DONE
from aiopravega.errors import ConfigurationError
from aiopravega.intervals.reports.gauges import GAUGES, Sample, gauges

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry, Metric


@verb(
    None,
    "metrics",
    SCOPES,
    Option(["--serve"], type=int, metavar="PORT", help="answer GET /metrics on this port, until interrupted"),
    Option(["--host"], default="127.0.0.1", help="address to listen on with --serve (127.0.0.1)"),
)
async def command(client: PravegaClient, options: Options) -> int:
    """Print lag of reader groups and consumers, and sizes of streams, for Prometheus."""
    scopes = scopes_of(client, options.scopes)
    if options.json and options.serve is None:
        print(json.dumps([dataclasses.asdict(sample) for sample in await _samples(client, scopes)], indent=2))
        return DONE
    try:
        from prometheus_client import generate_latest, start_http_server
    except ImportError:
        raise ConfigurationError("metrics need prometheus-client: pip install 'aiopravega[metrics]'") from None
    if options.serve is None:
        samples = await _samples(client, scopes)
        print(generate_latest(registry_of(lambda: samples)).decode(), end="")
        return DONE
    # The server's threads ask the client in its event loop; each of its requests has a time limit.
    loop = asyncio.get_running_loop()
    registry = registry_of(lambda: asyncio.run_coroutine_threadsafe(_samples(client, scopes), loop).result())
    try:
        server, _ = start_http_server(options.serve, options.host, registry)
    except (OSError, OverflowError) as error:
        raise ConfigurationError(f"cannot listen on {options.host}:{options.serve}: {error}") from error
    host, port = server.server_address[:2]
    print(f"metrics of {', '.join(scopes)}: http://{host!s}:{port}/metrics", flush=True)
    try:
        await asyncio.get_running_loop().create_future()  # until interrupted
    finally:
        server.shutdown()
        server.server_close()
    return DONE


async def _samples(client: PravegaClient, scopes: Sequence[str]) -> list[Sample]:
    return [sample for scope in scopes for sample in await gauges(client, scope)]


def registry_of(read: Callable[[], Iterable[Sample]]) -> "CollectorRegistry":
    """A registry whose numbers are read when they are collected; a gauge without numbers is left out."""
    from prometheus_client import CollectorRegistry
    from prometheus_client.core import GaugeMetricFamily
    from prometheus_client.registry import Collector

    class Gauges(Collector):
        def collect(self) -> "Iterator[Metric]":
            families = {gauge: GaugeMetricFamily(gauge, text) for gauge, text in GAUGES.items()}
            for sample in read():
                families[sample.gauge].add_sample(sample.gauge, dict(sample.labels), sample.value)
            yield from (family for family in families.values() if family.samples)

        def describe(self) -> "Iterator[Metric]":
            yield from ()  # so that registration reads no numbers

    registry = CollectorRegistry()
    registry.register(Gauges())
    return registry

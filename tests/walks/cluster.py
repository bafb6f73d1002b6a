"""The cluster of those who have one: TLS, accounts with the rights that docs/how-to/operate.md lists, and no others."""

import asyncio
import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final
from urllib.parse import urlsplit

from aiopravega import PravegaClient, StreamCutRange, StreamName
from aiopravega.ledger import Interval
from pravega_emulator import Account, PravegaEmulator
from pravega_jobs.events.lists import NewEvent, write_event_list

_ALL: Final = "READ_UPDATE"
# By tutorial: the scope that it makes, its streams and its ledgers.
USES: Final[Mapping[str, tuple[str, tuple[str, ...], tuple[str, ...]]]] = {
    "first-range": ("tutorial", ("visits",), ()),
    "first-dag": ("web", ("visits",), ("cut-ledger",)),
    "first-asset": ("plant", ("readings",), ("cut-ledger",)),
    "first-spark-job": ("shop", ("orders", "sums"), ("commit-ledger",)),
}
PLATFORM: Final = "platform"
_FLIGHTS: Final = StreamName("examples", "flights")
_SHOP: Final = StreamName("shop", "orders")


@contextmanager
def cluster_of(tutorial: str) -> Iterator[dict[str, str]]:
    """A secured cluster for one tutorial; what stands for it on a page, and the values."""
    scope, streams, ledgers = USES[tutorial]
    rules = ["prn::/,READ_UPDATE", f"prn::/scope:{scope},READ_UPDATE"]
    rules += [f"prn::/scope:{scope}/stream:{each},READ_UPDATE" for each in streams]
    rules += _ledger_rules(scope, ledgers)
    account = Account("analytics", secrets.token_urlsafe(16), ";".join(rules))
    with PravegaEmulator(tls=True, auth=True, accounts=[account]) as pravega:
        yield _values(pravega, account)


@contextmanager
def platform() -> Iterator[tuple[dict[str, str], dict[str, str]]]:
    """The cluster of the platform walk, with streams and ledgers in it.

    Returns:
        What stands for it on a page, and the values, of an account that may read one stream; and of one that keeps
        the ledgers.
    """
    analytics = Account("analytics", secrets.token_urlsafe(16), "prn::/scope:examples/stream:orders,READ")
    rules = ["prn::/,READ", "prn::/scope:examples,READ", "prn::/scope:shop,READ"]
    rules += [f"prn::/scope:examples/stream:{each},READ" for each in ("flights", "orders")]
    rules += ["prn::/scope:shop/stream:orders,READ_UPDATE"]
    rules += [*_ledger_rules("examples", ["cut-ledger"]), *_ledger_rules("shop", ["cut-ledger", "commit-ledger"])]
    keeper = Account(PLATFORM, secrets.token_urlsafe(16), ";".join(rules))
    with PravegaEmulator(tls=True, auth=True, accounts=[analytics, keeper]) as pravega:
        asyncio.run(_fill(pravega))
        yield _values(pravega, analytics), _values(pravega, keeper)


async def _fill(pravega: PravegaEmulator) -> None:
    """Streams, intervals that are done, and a write that was done once, as a DAG and a job have left them."""
    async with PravegaClient(pravega.config) as client:
        for stream in (_FLIGHTS, StreamName("examples", "orders"), _SHOP):
            await client.create_scope(stream.scope)
            await client.create_stream(stream)
        for stream, consumer in ((_FLIGHTS, "flights_delays/wait"), (_SHOP, "orders_counted/wait")):
            ledger = client.cut_ledger(stream.scope)
            await ledger.create()
            before = await client.head(stream)
            for day in ("2026-01-01", "2026-01-02"):
                async with client.writer(stream) as writer:
                    for number in range(100):
                        await writer.write(f"{day} {number}".encode())
                interval, taken = Interval(consumer, stream, day), StreamCutRange(before, await client.tail(stream))
                await ledger.record(interval, taken, after=await ledger.last(interval), chained=True)
                await ledger.finish(interval, taken)
                before = taken.end
        await write_event_list(client, _SHOP, "orders/2026-01-03", [NewEvent(b"an order", "customer-1")])


def _ledger_rules(scope: str, ledgers: Iterable[str]) -> list[str]:
    return [
        f"prn::/scope:{scope}/{kind},{_ALL}"
        for ledger in ledgers
        for kind in (f"key-value-table:{ledger}", f"stream:{ledger}_kvtable")
    ]


def _values(pravega: PravegaEmulator, account: Account) -> dict[str, str]:
    """In this order: a later one is a part of an earlier one."""
    address = urlsplit(pravega.controller_uri)
    assert pravega.server.ca_file is not None
    return {
        "pravega.example.org:9090": address.netloc,
        '"port": 9090': f'"port": {address.port}',
        "pravega.example.org": str(address.hostname),
        "/etc/pravega/ca.crt": str(pravega.server.ca_file),
        "=analytics": f"={account.name}",
        "…": account.password,
    }

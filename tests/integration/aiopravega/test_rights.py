"""What docs/how-to/operate.md says of rights, by accounts that have these and no others, on a server with TLS."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from uuid import uuid4

import pytest

from aiopravega import UNBOUNDED, PravegaClient, ScalingPolicy, StreamCutRange, StreamName
from aiopravega.errors import PermissionDeniedError
from aiopravega.intervals.chain.next_range import ChainRules, take_next
from aiopravega.intervals.conditions.move_condition import MoveCondition
from aiopravega.intervals.conditions.stream_watch import StreamWatch
from aiopravega.ledger import CutRecord, Interval
from pravega_emulator import Account, PravegaEmulator
from pravega_jobs.events.lists import NewEvent, write_event_list

pytestmark = pytest.mark.xdist_group("rights")

SCOPE = "shop"
ORDERS = StreamName(SCOPE, "orders")
PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "operate.md"
Use = Callable[[PravegaClient], Awaitable[object]]


def _name() -> str:
    return f"n{uuid4().hex}"


async def read(client: PravegaClient) -> None:
    async with aclosing(client.read(StreamCutRange(UNBOUNDED, UNBOUNDED), ORDERS)) as events:
        assert [event.data async for event in events]
    await client.check_cut(await client.tail(ORDERS))


async def read_times(client: PravegaClient) -> None:
    assert [mark async for mark in client.watermarks(ORDERS)]


async def take_range(client: PravegaClient) -> None:
    ledger = client.cut_ledger(SCOPE)
    await ledger.create()
    interval = Interval(_name(), ORDERS, "first")
    found = await take_next(client, ledger, interval, ChainRules(), StreamWatch(MoveCondition()), by="a test")
    assert isinstance(found, CutRecord)
    await ledger.finish(interval, by="a test")


async def write(client: PravegaClient) -> None:
    async with client.writer(ORDERS) as writer:
        await writer.write(b"written", routing_key="key")
    async with client.transaction(ORDERS) as transaction:
        await transaction.write(b"written", routing_key="key")
    await transaction.wait_committed(60)


async def write_once(client: PravegaClient) -> None:
    written = await write_event_list(client, ORDERS, _name(), [NewEvent(b"once", "key")])
    assert written.by_this_try


async def note_time(client: PravegaClient) -> None:
    await client.note_time(ORDERS, _name(), 1, await client.tail(ORDERS))


async def change(client: PravegaClient) -> None:
    await client.scale_stream(ORDERS, 2)
    await client.truncate_stream(await client.head(ORDERS))


async def make(client: PravegaClient) -> None:
    name = _name()
    assert await client.create_stream(f"{SCOPE}/{name}")
    assert await client.create_table(SCOPE, f"{name}t", key_length=4)


async def move_group(client: PravegaClient) -> None:
    head = await client.head(ORDERS)
    await client.create_reader_group(SCOPE, "reports", [head])
    await client.reset_reader_group(SCOPE, "reports", [head])
    await client.describe_reader_group(SCOPE, "reports")


async def subscribe(client: PravegaClient) -> None:
    name = _name()
    await client.subscribe(ORDERS, name)
    await client.report(ORDERS, name, await client.tail(ORDERS))
    assert await client.unsubscribe(ORDERS, name)


async def read_table(client: PravegaClient) -> None:
    assert [entry.value async for entry in client.table(SCOPE, "prices").entries()] == [b"free"]


async def write_table(client: PravegaClient) -> None:
    await client.table(SCOPE, "prices").put(b"tea!", b"free")


async def list_streams(client: PravegaClient) -> None:
    assert await client.list_streams(SCOPE) == []  # none that this account may read


async def make_scope(client: PravegaClient) -> None:
    assert await client.create_scope(_name())


USES: dict[str, Use] = {
    "read events, find cuts, wait for them with `record=False`": read,
    "read watermarks, take ranges by event time": read_times,
    "wait for cuts, take ranges: the cut ledger": take_range,
    "write, at least once or in a transaction": write,
    "write exactly once: the commit ledger": write_once,
    "note event times": note_time,
    "scale, truncate, seal, delete a stream": change,
    "make streams, tables and ledgers": make,
    "make and move reader groups": move_group,
    "subscribe, report what is processed": subscribe,
    "read a key-value table": read_table,
    "write a key-value table": write_table,
    "list the streams of a scope": list_streams,
    "make scopes": make_scope,
}


def table_of_the_page() -> dict[str, list[str]]:
    """Each use with its rights."""
    part = PAGE.read_text(encoding="utf-8").partition("## Rights\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (.+?) \| (`prn::.+`) \|$", part, re.MULTILINE)
    return {use: re.findall(r"`([^`]+)`", rights) for use, rights in rows}


RIGHTS = table_of_the_page()


def _less(right: str) -> list[str]:
    """A right that says less: to read only, or nothing."""
    name, _, kind = right.partition(",")
    return [f"{name},READ"] if kind == "READ_UPDATE" else []


def _accounts() -> list[Account]:
    found = [Account("admin", "of-the-admin")]
    for number, rights in enumerate(RIGHTS.values()):
        found.append(Account(f"use-{number}", f"of-use-{number}", ";".join(rights)))
        for index, right in enumerate(rights):
            fewer = rights[:index] + _less(right) + rights[index + 1 :]
            # An account with no line at all is none.
            found.append(Account(f"use-{number}-{index}", "too-little", ";".join(fewer or ["prn::/scope:other,READ"])))
    return found


@pytest.fixture(scope="module")
def server():
    often = {"controller.watermarking.frequency.seconds": "2"}
    with PravegaEmulator(tls=True, auth=True, accounts=_accounts(), settings=often) as running:
        asyncio.run(_fill(running))
        yield running


async def _fill(running: PravegaEmulator) -> None:
    async with PravegaClient(running.config) as admin:
        await admin.create_scope(SCOPE)
        await admin.create_stream(ORDERS, ScalingPolicy.fixed(2))
        # First: a writer of transactions that notes no time holds watermarks back.
        time = 0
        while not [mark async for mark in admin.watermarks(ORDERS)]:
            time += 1
            await admin.note_time(ORDERS, "filler", time)
            await asyncio.sleep(1)
        await admin.create_table(SCOPE, "prices", key_length=4)
        await admin.cut_ledger(SCOPE).create()
        await write(admin)
        await write_once(admin)
        await write_table(admin)
        await move_group(admin)


def test_the_page_lists_what_is_tested():
    assert list(RIGHTS) == list(USES)
    assert all(RIGHTS.values())


@pytest.mark.parametrize("use", USES)
async def test_the_rights_of_the_page_suffice_and_none_is_too_much(server, use):
    number = list(RIGHTS).index(use)
    async with PravegaClient(server.config_for(f"use-{number}")) as client:
        await USES[use](client)

    superfluous = []
    for index, right in enumerate(RIGHTS[use]):
        async with PravegaClient(server.config_for(f"use-{number}-{index}")) as client:
            try:
                await USES[use](client)
            except PermissionDeniedError:
                continue
            superfluous.append(right)
    assert not superfluous

"""The stand-in for a server that the search of the ledgers uses answers as a Pravega does.

Both get the same list of operations, through the same code; the answers are compared. See
docs/explanation/model.md.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

import pytest
from tests.unit.aiopravega.ledger.model.machine import Process
from tests.unit.aiopravega.ledger.model.search import run_to_end
from tests.unit.aiopravega.ledger.model.server import Server

from aiopravega import PravegaClient, ScalingPolicy, StreamName, wire
from aiopravega.control import Access, Controller
from aiopravega.errors import PravegaError
from aiopravega.store import SegmentStore
from aiopravega.tables import KeyValueTable

KEYS = [bytes([number]) * 8 for number in range(4)]


class Asked:
    """What was asked, and the answer: a value, or the class of an error."""

    def __init__(self) -> None:
        self.answers: list[tuple[str, Any]] = []

    async def ask(self, what: str, answer: Awaitable[Any], means: Callable[[Any], Any] = lambda answer: answer) -> Any:
        try:
            found = await answer
        except PravegaError as error:
            self.answers.append((what, type(error).__name__))
            return None
        self.answers.append((what, means(found)))
        return found


async def _ask_table(asked: Asked, controller: Controller, store: SegmentStore, scope: str) -> None:
    table = KeyValueTable(controller, store, scope, "entries")
    await asked.ask("get, without a table", table.get(KEYS[0]))
    table = KeyValueTable(controller, store, scope, "entries")
    await asked.ask("create", controller.create_table(scope, "entries", 1, 8))
    await asked.ask("create again", controller.create_table(scope, "entries", 1, 8))
    await asked.ask("get", table.get(KEYS[0]))
    await asked.ask("get a key of another length", table.get(b"short"))
    first = await asked.ask("put if absent", table.put_if_absent(KEYS[0], b"a"), lambda version: version >= 0)
    await asked.ask("put if absent again", table.put_if_absent(KEYS[0], b"b"))
    second = await asked.ask("replace", table.replace(KEYS[0], b"b", first), lambda version: version != first)
    await asked.ask("replace the old version", table.replace(KEYS[0], b"c", first))
    await asked.ask("replace nothing", table.replace(KEYS[1], b"c", first))
    await asked.ask(
        "replace by the same value", table.replace(KEYS[0], b"b", second), lambda version: version != second
    )
    await asked.ask("remove an old version", table.remove(KEYS[0], first))
    await asked.ask("remove nothing", table.remove(KEYS[1]))
    await asked.ask("get what is there", table.get(KEYS[0]), lambda entry: (entry.key, entry.value))
    await asked.ask("remove", table.remove(KEYS[0]))
    later = await asked.ask("put again", table.put(KEYS[0], b"d"), lambda version: version not in (first, second))
    await asked.ask("replace a version from before the removal", table.replace(KEYS[0], b"e", first))
    await asked.ask("get again", table.get(KEYS[0]), lambda entry: entry.version == later)
    for key in reversed(KEYS[1:]):
        await asked.ask("put another", table.put(key, key), lambda version: version >= 0)
    for first_key, last_key in ((b"", b""), (KEYS[1], KEYS[2]), (KEYS[3], KEYS[3])):
        await asked.ask("keys", _keys(table, first_key, last_key))
    segment = (await controller.table_segments(scope, "entries"))[0].segment
    for version, what in ((0, "an old version"), (wire.KEY_NOT_EXISTS, "an existing key")):
        entries = ((wire.TableKey(KEYS[1]), b"new"), (wire.TableKey(KEYS[2], version), b"new"))
        update = store.request_once(
            segment,
            Access.READ_WRITE,
            lambda number, token, entries=entries: wire.UpdateTableEntries(number, str(segment), token, entries),  # type: ignore[misc]  # as it is now
            wire.TableEntriesUpdated,
        )
        await asked.ask(f"update two, of which one is {what}", update)
        await asked.ask("none of it has happened", table.get(KEYS[1]), lambda entry: entry.value)
    versions = {key: (await table.get_all([key]))[0].version for key in KEYS[1:3]}
    new = {key: (b"new", version) for key, version in versions.items()}
    for changed, what in ((new, "as they are"), (new, "as they were"), ({**new, b"\xfe" * 8: (b"", None)}, "and more")):
        await asked.ask(f"replace all, {what}", table.replace_all(changed))
        await asked.ask("values", table.get_all(KEYS), lambda found: [(entry.key, entry.value) for entry in found])
    await asked.ask("remove all, of which one is not there", table.remove_all([KEYS[0], KEYS[3], b"\xff" * 8]))
    await asked.ask("keys at last", _keys(table, b"", b""))


async def _keys(table: KeyValueTable, first: bytes, last: bytes) -> list[bytes]:
    return [key async for page in table.key_pages(first, last) for key in page]


async def _ask_transactions(asked: Asked, controller: Controller, stream: StreamName) -> None:
    opened = [await controller.create_transaction(stream, 60_000) for _ in range(3)]
    committed, aborted, open_one = (txn for txn, _ in opened)
    await asked.ask("segments", _value([entry.segment.number for entry in opened[0][1]]))
    for txn in (committed, aborted, open_one):
        await _ask_all(asked, controller, stream, txn, "open", "ping", "state")
    await _ask_all(asked, controller, stream, committed, "to be committed", "commit")
    await _ask_all(asked, controller, stream, aborted, "to be aborted", "abort")
    for txn, what in ((committed, "committed"), (aborted, "aborted")):
        await _ended(controller, stream, txn)
        await _ask_all(asked, controller, stream, txn, what, "ping", "state", "commit", "abort", "state")
    await _ask_all(asked, controller, stream, UUID(int=7), "unknown", "state", "ping", "commit", "abort")


async def _ask_all(
    asked: Asked, controller: Controller, stream: StreamName, txn: UUID, what: str, *questions: str
) -> None:
    for question in questions:
        match question:
            case "ping":
                answer: Awaitable[Any] = controller.ping_transaction(stream, txn, 60_000)
            case "state":
                answer = controller.transaction_state(stream, txn)
            case "commit":
                answer = controller.commit_transaction(stream, txn)
            case _:
                answer = controller.abort_transaction(stream, txn)
        await asked.ask(f"{question} of a transaction that is {what}", answer, str)


async def _ended(controller: Controller, stream: StreamName, txn: UUID) -> None:
    while (await controller.transaction_state(stream, txn)).name.endswith("ING"):  # noqa: ASYNC110 - a server's
        await asyncio.sleep(0.1)


async def _value(value: Any) -> Any:
    return value


async def _ask(
    controller: Controller, store: SegmentStore, stream: StreamName, make_again: Callable[[], Awaitable[None]]
) -> list[tuple[str, Any]]:
    asked = Asked()
    await _ask_table(asked, controller, store, stream.scope)
    await asked.ask("first segment", controller.first_segment(stream), lambda segment: segment.number)
    await asked.ask("head", controller.head_segments(stream), lambda head: [s.number for s in head])
    await _ask_transactions(asked, controller, stream)
    before, _ = await controller.create_transaction(stream, 60_000)
    await controller.abort_transaction(stream, before)  # a stream with open transactions is not sealed
    await _ended(controller, stream, before)
    await make_again()
    await asked.ask("first segment of a stream made again", controller.first_segment(stream), lambda one: one.number)
    await _ask_all(asked, controller, stream, before, "of the deleted stream", "state", "ping", "commit", "abort")
    return asked.answers


@pytest.mark.usefixtures("pravega_emulator")
async def test_the_stand_in_and_a_pravega_answer_the_same(client: PravegaClient, scope: str):
    stream = StreamName(scope, "delays")
    await client.create_stream(f"{scope}/delays", ScalingPolicy.fixed(1))

    async def make_again() -> None:
        await client.seal_stream(f"{scope}/delays")
        await client.delete_stream(f"{scope}/delays")
        await client.create_stream(f"{scope}/delays", ScalingPolicy.fixed(1))

    real = await _ask(client.controller, client.store, stream, make_again)

    server = Server(scope=scope)

    async def main(process: Process) -> list[tuple[str, Any]]:
        async def stand_in_makes_again() -> None:
            server.make_stream_again()

        return await _ask(process.controller, process.store, stream, stand_in_makes_again)

    stood_in = run_to_end(server, Process("the only one", server, main))

    assert stood_in == real

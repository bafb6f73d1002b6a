"""Whether a ledger forgets a write too early, with every clock right or one of them wrong. One step follows another."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Final

from tests.unit.aiopravega.ledger.model.machine import INSTANT, Process
from tests.unit.aiopravega.ledger.model.search import run_to_end
from tests.unit.aiopravega.ledger.model.server import Server
from tests.unit.aiopravega.ledger.model.writes import SINK, attempt_of, hash_of

from aiopravega import SegmentId
from aiopravega.ledger import CommitLedger, PartitionCommit
from aiopravega.ledger.commits.cleanup import expired
from aiopravega.ledger.commits.keys import KEY_LENGTH, record_key

_DAY: Final = 24 * 3600.0
_RETAIN: Final = 30
_WRONG: Final = (-40, 0, 40)
_PASSES: Final = (0, 29, 31)
_INSTANT: Final = INSTANT | {"GetStreamSegmentInfo"}
# One write in eight sweeps; this one does.
_SWEEPS: Final = next(f"next {n}" for n in range(100) if record_key(SINK, f"next {n}")[-1] % 8 == 0)


@dataclass(frozen=True)
class Clocks:
    """How many days each clock is ahead: of the machines that write, sweep and write again, and of two stores."""

    first: int = 0
    sweeper: int = 0
    again: int = 0
    store: int = 0
    next_store: int = 0


def cases() -> Iterator[tuple[Clocks, int]]:
    """All clocks of which one is wrong at most, with the days that pass between the first write and the second."""
    for clocks, days in product(product(_WRONG, repeat=5), _PASSES):
        if sum(ahead != 0 for ahead in clocks) <= 1:
            yield Clocks(*clocks), days


def check_all() -> int:
    """Check all cases; returns their number.

    Raises:
        AssertionError: a write was forgotten before its time, or never.
    """
    count = 0
    for clocks, days in cases():
        for by_command in (False, True):
            _check(clocks, days, by_command)
            count += 1
    return count


def _check(clocks: Clocks, days: int, by_command: bool) -> None:
    server = Server(tables={"commit-ledger": KEY_LENGTH}, store_ahead=clocks.store * _DAY)
    assert run_to_end(server, _writer(server, "first", "daily", clocks.first)) == "written"
    server.time += days * _DAY
    server.store_ahead = clocks.next_store * _DAY
    assert run_to_end(server, _writer(server, "sweeper", _SWEEPS, clocks.sweeper, retain=1)) == "written"
    if by_command:
        run_to_end(server, Process("command", server, _expire, clocks.sweeper * _DAY, _INSTANT))
    found = run_to_end(server, _writer(server, "again", "daily", clocks.again))
    case = f"{clocks}, {days} days later, {'command' if by_command else 'sweep'}"
    if days < _RETAIN:
        assert found == "known", f"forgotten before its time, so doubled: {case}"
    elif clocks == Clocks():
        assert found == "written", f"never forgotten: {case}"


def _writer(server: Server, name: str, write_id: str, ahead: int, retain: int = _RETAIN) -> Process:
    async def write(process: Process) -> str:
        protocol = _ledger(process).protocol(visible_within=None, retain=retain * _DAY)
        found = await protocol.begin(SINK, write_id, attempt_of(name))
        if found.done is not None:
            return "known"
        txn, _ = await process.controller.create_transaction(SINK, 60_000)
        server.write(txn, write_id)
        segment = SegmentId(SINK, 0, 0)
        witnessed_at = await process.store.changed_at(segment, segment.transaction(txn))
        part = PartitionCommit(partition=0, txn_id=txn, events=1, bytes=9, checksum=write_id, hashes=hash_of(write_id))
        await protocol.commit(found, [part], witnessed_at)
        return "written"

    return Process(name, server, write, ahead * _DAY, _INSTANT)


async def _expire(process: Process) -> None:
    """What `pravega ledger expire` does."""
    ledger = _ledger(process)
    for stored in await expired(ledger.records()):
        await ledger.forget(stored)


def _ledger(process: Process) -> CommitLedger:
    return process.client.commit_ledger(SINK.scope)

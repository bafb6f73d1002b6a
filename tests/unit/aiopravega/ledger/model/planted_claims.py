"""Mistakes about claims, sinks and take-overs that the search must find; see `planted`."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from tests.unit.aiopravega.ledger.model import copies, retries

from aiopravega import PravegaClient, StreamCutRange, StreamName
from aiopravega.intervals.chain import take_over
from aiopravega.ledger import CommitProtocol, CommitRecord, CutLedger, Interval, Sink
from aiopravega.ledger.commits.closing import reopen_write
from aiopravega.ledger.intervals.cut_record import CutRecord
from pravega_jobs import writes
from pravega_jobs.identity import names, sinks
from pravega_jobs.writes import Written


def is_done_after_its_first_output(patch: pytest.MonkeyPatch) -> None:
    real = CutLedger.finish

    async def finish(
        self: CutLedger, interval: Interval, processed: StreamCutRange, *, by: str, part: str
    ) -> CutRecord:
        del part
        return await real(self, interval, processed, by=by)

    patch.setattr(CutLedger, "finish", finish)


def takes_over_without_asking_sinks(patch: pytest.MonkeyPatch) -> None:
    async def asked(*_: object) -> bool:
        return False

    patch.setattr(take_over, "_asked", asked)


def asks_sinks_and_leaves_them_open(patch: pytest.MonkeyPatch) -> None:
    async def close_write(
        protocol: CommitProtocol, _: object, stream: StreamName, write_id: str, generation: int
    ) -> CommitRecord | None:
        return (await protocol.begin(stream, write_id, UUID(int=0), generation)).done

    patch.setattr(sinks, "close_write", close_write)


def takes_over_from_a_try_that_it_has_not_judged(patch: pytest.MonkeyPatch) -> None:
    """A further try, and what it declares, are the record that was judged."""

    def same(real: Callable[..., CutRecord]) -> Callable[..., CutRecord]:
        def changed(self: CutRecord, *given: Any) -> CutRecord:
            found = real(self, *given)
            return self if (found.parts, found.claimant) == (self.parts, self.claimant) else found

        return changed

    patch.setattr(CutRecord, "expecting", same(CutRecord.expecting))
    patch.setattr(CutRecord, "with_part", same(CutRecord.with_part))


def opens_a_write_after_its_sink_is_declared(patch: pytest.MonkeyPatch) -> None:
    async def declare_sink(client: PravegaClient, ledger: CutLedger, interval: Interval, part: str, sink: Sink) -> None:
        await ledger.declare(interval, part, sink)
        stream = StreamName.parse(sink.target)
        await reopen_write(client.commit_ledger(stream.scope), stream, sink.id)

    patch.setattr(copies, "declare_sink", declare_sink)


def gives_two_claimants_of_a_date_one_interval(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(names, "interval_of_task", lambda interval, _: interval)


def accepts_what_a_further_try_finds(patch: pytest.MonkeyPatch) -> None:
    def write_unless_done(
        stream: Any, write_id: str, find: Callable[[], CommitRecord | None], write: Callable[[], None], *, claimant: Any
    ) -> Written:
        found = find()
        if found is not None and claimant.number > 1:
            return Written(found, False, 0.0)
        return writes.write_unless_done(stream, write_id, find, write, claimant=claimant)

    patch.setattr(retries, "write_unless_done", write_unless_done)

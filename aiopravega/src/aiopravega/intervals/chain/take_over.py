"""Take-overs: the decision about the last interval of a chain, which another claimant has and has not finished.

The host of the claimant is asked first: a claimant that can still work is waited for. If it is over, its sinks are
asked, before anything is read: what it has written completely closes the interval, and what it has not written belongs
to the next one. A run that wrote a part of its sinks is the only one that can continue.
"""

import contextlib
from collections.abc import Awaitable, Callable
from datetime import UTC
from typing import Final, TypeAlias

from aiopravega.errors import HalfDoneError, LedgerError, TableConflictError
from aiopravega.ledger import ClaimantState, CutLedger, CutRecord, Interval, IntervalState, Part, Sink

# The state of the claimant of an interval, by its host.
Judge: TypeAlias = Callable[[CutRecord], Awaitable[ClaimantState]]
# True if a sink has all that a claim writes into it; False: it has none of it, and will not take it any more.
AskSink: TypeAlias = Callable[[Sink, CutRecord], Awaitable[bool]]

_MEANINGS: Final = {
    ClaimantState.RUNNING: "which is at work or is to be tried again",
    ClaimantState.DONE: "which has succeeded",
    ClaimantState.FAILED: "which has failed",
    ClaimantState.GONE: "which does not exist any more",
    ClaimantState.UNKNOWN: "whose host cannot be asked",
}

_AGAIN: Final = {
    "airflow": "Clear its tasks in Airflow, so that it processes its range; or delete the run, or say "
    "on_open='take_over', so that the next run processes it",
    "dagster": "Re-execute the run in Dagster, so that it processes its range; or delete the run, so that the next run "
    "processes it",
}


async def take_over(
    ledger: CutLedger, interval: Interval, record: CutRecord, ask: AskSink | None = None, *, by: str | None = None
) -> None:
    """Settle the last interval of a chain, whose claimant has ended: it is done, or gives its range back.

    It is done if its sinks have all of its work. If they have nothing, the next range has the same start. If the record
    has changed meanwhile, or another run has a range after it, nothing is done: call `next_start` again in any case.

    Args:
        ledger: the cut ledger.
        interval: the one that takes over.
        record: the record of the last interval.
        ask: asks a sink whether the claim's write is done.
        by: the author of the change.

    Raises:
        HalfDoneError: a part of the work is done and another one is not, or a sink cannot be asked.
        PravegaError: the ledger or a sink does not answer.
    """
    done = await _is_done(record, ask)
    try:
        if done:
            await close(ledger, record, by=by)
        else:
            reason = f"taken over by {interval.name!r}"
            await ledger.give_back(record.identity, reason, by=by, judged=record)
    except TableConflictError:
        return
    except LedgerError:
        if (await ledger.find(record.identity)) == record:
            raise


async def close(ledger: CutLedger, record: CutRecord, *, by: str | None = None) -> None:
    """Record that an interval is done whose claimant cannot say so any more, unless its record has changed meanwhile.

    Raises:
        PravegaError: the ledger does not answer.
    """
    if (await ledger.find(record.identity)) == record:
        with contextlib.suppress(LedgerError):  # another run has settled it since
            await ledger.finish(record.identity, record.range, by=by)


async def _is_done(record: CutRecord, ask: AskSink | None) -> bool:
    done = [part for part in record.parts if part.done or (part.sink and await _asked(part.sink, record, ask))]
    if done and len(done) < len(record.parts):
        left = ", ".join(_described(part) for part in record.parts if part not in done)
        raise HalfDoneError(
            f"{record.identity} is processed in part: {', '.join(_described(part) for part in done)} is done, and "
            f"{left} is not. {_whose(record)} has to do the rest, so that nothing is written twice. {ways_out(record)}"
        )
    return bool(done)


async def _asked(sink: Sink, record: CutRecord, ask: AskSink | None) -> bool:
    if ask is None:
        raise HalfDoneError(
            f"{record.identity} may have been written already: {sink} cannot be asked from here. {ways_out(record)}"
        )
    return await ask(sink, record)


def _described(part: Part) -> str:
    return part.name if part.sink is None else f"{part.name} ({part.sink})"


def explain_wait(record: CutRecord, state: ClaimantState = ClaimantState.UNKNOWN) -> str:
    """The sentences about a wait for an interval: for whom, since when, its state, and the ways to end the wait."""
    why = f" ({record.reason})" if record.state is IntervalState.FAILED and record.reason else ""
    since = record.state_since.astimezone(UTC).isoformat(timespec="seconds")
    return (
        f"waiting for {record.identity}, which is {record.state.value} since {since}{why}: {_whose(record)}, "
        f"{_MEANINGS[state]}, has its range. {ways_out(record)}"
    )


def ways_out(record: CutRecord) -> str:
    """The ways to continue after an interval that is not done, as a sentence with commands."""
    names = f"{record.stream} --consumer {record.consumer!r} --interval {record.interval!r}"
    host = "" if record.claimant is None else record.claimant.host
    again = _AGAIN.get(host, "Run it again, so that it processes its range")
    return f"{again}; or continue without it: pravega cuts skip {names}"


def not_done(record: CutRecord, state: ClaimantState = ClaimantState.UNKNOWN) -> LedgerError:
    """The error for an interval that has waited long enough for this one."""
    return LedgerError(f"{record.identity} is not done in time; {explain_wait(record, state)}")


def _whose(record: CutRecord) -> str:
    return str(record.claimant or record.changed_by or record.recorded_by)

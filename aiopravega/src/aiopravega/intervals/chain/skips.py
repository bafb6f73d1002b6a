"""Skips that a person decides: of intervals whose ranges are gone, and of a loss after the last range of a chain."""

from dataclasses import dataclass

from aiopravega.client import PravegaClient
from aiopravega.errors import ConfigurationError
from aiopravega.intervals.chain.losses import Left, bytes_between, what_is_left
from aiopravega.ledger import CutLedger, CutRecord, Interval, IntervalState, StoredRange
from aiopravega.names import StreamName


@dataclass(frozen=True, slots=True)
class Loss:
    """An interval that cannot, or should not, be processed as a whole; `readable` is in bytes, None: not known."""

    record: CutRecord
    left: Left
    readable: int | None

    @property
    def text(self) -> str:
        """A line about the events that are lost by skipping the interval."""
        gone = self.left.made_again or (f"{self.left.text} of it are gone" if self.left.gone else "none of it is gone")
        readable = "an unknown number of" if self.readable is None else f"{self.readable:,}"
        more = f"; {readable} bytes of it can still be read, and will not be" if self.readable != 0 else ""
        return f"interval {self.record.interval!r} is {self.record.state.value}: {gone}{more}"


@dataclass(frozen=True, slots=True)
class Skips:
    """Intervals to skip, and the loss after the last range."""

    losses: list[Loss]
    last: StoredRange | None = None
    following: Left | None = None

    @property
    def texts(self) -> list[str]:
        """A line for each loss."""
        texts = [loss.text for loss in self.losses]
        if self.following is not None and self.last is not None:
            gone = self.following.made_again or f"{self.following.text} after it are gone"
            texts.append(
                f"{self.last.record.identity} is the last: {gone}; the next starts at {self.following.range.start}"
            )
        return texts


async def find_skips(
    client: PravegaClient, ledger: CutLedger, consumer: str, stream: StreamName, interval: str | None = None
) -> Skips:
    """Find the losses of a consumer; with `interval`, only that interval, also if it can be read.

    Raises:
        ConfigurationError: the consumer has no such interval, or it is done.
        PravegaError: the cluster cannot be asked.
    """
    records = await ledger.records(consumer, stream)
    if interval is not None:
        matching = [record for record in records if record.interval == interval]
        if not matching or not matching[0].is_waiting:
            what = f"is {matching[0].state.value}" if matching else "is not known"
            raise ConfigurationError(f"{Interval(consumer, stream, interval)} {what}: only what waits can be skipped")
        return Skips([await _loss(client, matching[0])])
    losses = [await _loss(client, record) for record in records if record.is_waiting]
    last = await ledger.last(Interval(consumer, stream, "any"))
    following = None if last is None else await what_is_left(client, last.end)
    gone = [loss for loss in losses if loss.left.gone is not None]
    return Skips(gone, last, following if following is not None and following.gone is not None else None)


async def skip(ledger: CutLedger, skips: Skips, *, by: str | None = None) -> None:
    """Record the skips that `find_skips` has found: no run processes these intervals; the next starts after the loss.

    Raises:
        TableConflictError: another run has claimed a range meanwhile: call `find_skips` again.
        PravegaError: the ledger cannot be reached.
    """
    for loss in skips.losses:
        reason = loss.left.gone.reason if loss.left.gone else "somebody has decided so"
        await ledger.skip(loss.record.identity, reason, by=by)
    if skips.following is None or skips.following.gone is None or skips.last is None:
        return
    record = skips.last.record
    passage = Interval(record.consumer, record.stream, f"skipped after {record.interval}")
    await ledger.record(
        passage, skips.following.range, skips.last, skipped=skips.following.gone, state=IntervalState.SKIPPED, by=by
    )


async def _loss(client: PravegaClient, record: CutRecord) -> Loss:
    left = await what_is_left(client, record.range.start, record.range.end)
    return Loss(record, left, await bytes_between(client, left.range))

"""Decisions of a person about a cut ledger: `pravega cuts skip`, `forget` and `reopen`.

Each command says its effect, and the events that are lost by it, before it asks.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from aiopravega.client import PravegaClient
from aiopravega.commands.common import LEDGER, STREAM, YES, Option, Options, decided, ledger_of, show, stream_of, verb
from aiopravega.commands.grammar import NO, Topic
from aiopravega.cuts import StreamCutRange
from aiopravega.errors import ConfigurationError, StreamNotFoundError
from aiopravega.intervals.chain.losses import bytes_between
from aiopravega.intervals.chain.skips import find_skips, skip
from aiopravega.ledger import CutLedger, CutRecord, Interval
from aiopravega.names import StreamName

_CONSUMER: Final = Option(["--consumer"], required=True, help="whose intervals")


def add_decisions(topic: Topic) -> None:
    """Add the commands."""
    gone = Option(["--interval"], help="this interval, whether it can be read or not; default: all that is gone")
    claimed = Option(["--interval"], help="only this interval, if it was claimed for itself")
    named = Option(["--interval"], required=True, help="name of the interval")
    reason = Option(["--reason"], default="a person has decided so", help="the reason, for the records")
    verb(topic, "skip", STREAM, _CONSUMER, gone, LEDGER, YES)(_skip)
    verb(topic, "forget", STREAM, _CONSUMER, claimed, LEDGER, YES)(_forget)
    verb(topic, "reopen", STREAM, _CONSUMER, named, reason, LEDGER, YES)(_reopen)


def _asked(client: PravegaClient, options: Options) -> tuple[StreamName, CutLedger]:
    stream = stream_of(client, options)
    return stream, ledger_of(client, options, stream.scope)


def _done(options: Options, stream: StreamName, said: str) -> int:
    return show(options, {"stream": str(stream), "consumer": options.consumer, "done": said}, said)


async def _skip(client: PravegaClient, options: Options) -> int:
    """Skip what a consumer can never read again: truncated, or of a stream made again."""
    stream, ledger = _asked(client, options)
    skips = await find_skips(client, ledger, options.consumer, stream, options.interval)
    if not skips.texts:
        return _done(options, stream, f"{options.consumer!r} can continue in {stream}: nothing is gone")
    said = "\n".join(skips.texts)
    if not decided(options, said):
        return NO
    await skip(ledger, skips)
    return _done(options, stream, said)


async def _forget(client: PravegaClient, options: Options) -> int:
    """Remove all records of a consumer: it starts again, and processes the stream again."""
    stream, ledger = _asked(client, options)
    records = await ledger.records(options.consumer, stream)
    if options.interval is not None:
        records = [record for record in records if record.interval == options.interval]
    if not records:
        raise ConfigurationError(f"{options.consumer!r} has no such intervals of {stream}")
    said = await _text_of_forgotten(client, stream, options.consumer, records)
    if not decided(options, said):
        return NO
    await ledger.forget(options.consumer, stream, options.interval)
    return _done(options, stream, said)


async def _text_of_forgotten(
    client: PravegaClient, stream: StreamName, consumer: str, records: Sequence[CutRecord]
) -> str:
    counts = ", ".join(f"{count} {state.value}" for state, count in Counter(record.state for record in records).items())
    text = f"{consumer!r} on {stream}: {len(records)} intervals ({counts}) are forgotten, with their processing times"
    try:
        head, tail = await client.head(stream), await client.tail(stream)
    except StreamNotFoundError:
        return f"{text}; there is no such stream any more"
    size = await bytes_between(client, StreamCutRange(head, tail))
    readable = "an unknown number of bytes" if size is None else f"{size:,} bytes"
    return f"{text}; the next consumer of this name starts again: the stream has {readable} from {head} on"


async def _reopen(client: PravegaClient, options: Options) -> int:
    """Hand an interval out again, with the range that it has."""
    stream, ledger = _asked(client, options)
    interval = Interval(options.consumer, stream, options.interval)
    record = await ledger.find(interval)
    if record is None:
        raise ConfigurationError(f"{interval} is not known")
    again = "; all of it will be processed again" if record.is_done else ""
    said = f"{interval} was {record.state.value}, and is handed out again to the next run that asks for it{again}"
    if not decided(options, said):
        return NO
    await ledger.reopen(interval, options.reason)
    return _done(options, stream, said)

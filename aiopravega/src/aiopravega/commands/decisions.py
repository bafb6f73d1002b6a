"""Decisions of a person about a cut ledger: `pravega cuts skip`, `forget` and `reopen`.

Each command prints its effect, and the events that are lost by it; with `--dry-run` it only prints them.
"""

import argparse
from collections import Counter
from collections.abc import Sequence

from aiopravega.client import PravegaClient
from aiopravega.commands.common import Commands, add_cluster, add_command, ledger_of
from aiopravega.cuts import StreamCutRange
from aiopravega.errors import ConfigurationError, StreamNotFoundError
from aiopravega.intervals.chain.losses import bytes_between
from aiopravega.intervals.chain.skips import find_skips, skip
from aiopravega.ledger import CutLedger, CutRecord, Interval
from aiopravega.names import StreamName


def add_decisions(commands: Commands) -> None:
    """Add the commands."""
    skipped = add_command(
        commands, "skip", _skip, "skip what a consumer can never read again: truncated, or of a stream made again"
    )
    skipped.add_argument("--interval", help="this interval, whether it can be read or not; default: all that is gone")
    forgotten = add_command(
        commands, "forget", _forget, "remove all records of a consumer: it starts again, and processes the stream again"
    )
    forgotten.add_argument("--interval", help="only this interval, if it was claimed for itself")
    reopened = add_command(commands, "reopen", _reopen, "hand an interval out again, with the range that it has")
    reopened.add_argument("--interval", required=True, help="name of the interval")
    reopened.add_argument("--reason", default="a person has decided so", help="the reason, for the records")
    for each in (skipped, forgotten, reopened):
        add_cluster(each)
        each.add_argument("stream", help="scope/stream")
        each.add_argument("--consumer", required=True, help="whose intervals")
        each.add_argument("--dry-run", action="store_true", help="only say what would be done, and what is lost")


def _asked(client: PravegaClient, options: argparse.Namespace) -> tuple[StreamName, CutLedger]:
    stream = StreamName.parse(options.stream, client.config.scope)
    return stream, ledger_of(client, options, stream.scope)


def _say(texts: Sequence[str], options: argparse.Namespace) -> int:
    print("\n".join(texts))
    if options.dry_run:
        print("nothing was changed: --dry-run")
    return 0


async def _skip(client: PravegaClient, options: argparse.Namespace) -> int:
    stream, ledger = _asked(client, options)
    skips = await find_skips(client, ledger, options.consumer, stream, options.interval)
    if skips.texts and not options.dry_run:
        await skip(ledger, skips)
    return _say(skips.texts or [f"{options.consumer!r} can continue in {stream}: nothing is gone"], options)


async def _forget(client: PravegaClient, options: argparse.Namespace) -> int:
    stream, ledger = _asked(client, options)
    records = await ledger.records(options.consumer, stream)
    if options.interval is not None:
        records = [record for record in records if record.interval == options.interval]
    if not records:
        raise ConfigurationError(f"{options.consumer!r} has no such intervals of {stream}")
    texts = [await _text_of_forgotten(client, stream, options.consumer, records)]
    if not options.dry_run:
        await ledger.forget(options.consumer, stream, options.interval)
    return _say(texts, options)


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


async def _reopen(client: PravegaClient, options: argparse.Namespace) -> int:
    stream, ledger = _asked(client, options)
    interval = Interval(options.consumer, stream, options.interval)
    record = await ledger.find(interval)
    if record is None:
        raise ConfigurationError(f"{interval} is not known")
    again = "; all of it will be processed again" if record.is_done else ""
    if not options.dry_run:
        await ledger.reopen(interval, options.reason)
    return _say(
        [f"{interval} was {record.state.value}, and is handed out again to the next run that asks for it{again}"],
        options,
    )

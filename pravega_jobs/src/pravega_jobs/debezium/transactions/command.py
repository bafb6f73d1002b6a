"""The command `pravega cuts whole`: where ranges of tables can end without cutting a transaction of the database."""

import argparse
import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

from aiopravega.client import PravegaClient
from aiopravega.commands.common import add_controller, table
from aiopravega.cuts import UNBOUNDED, StreamCut, StreamCutRange
from aiopravega.errors import ConfigurationError
from aiopravega.names import StreamName
from pravega_jobs.debezium.transactions.cuts import whole_transactions

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]  # noqa: SLF001 - argparse has no public name for it


def add_whole(commands: "Commands") -> None:
    """Add the command."""
    whole = commands.add_parser(
        "whole", help="print the last cuts of tables' streams that go through no transaction, by Debezium's events"
    )
    whole.add_argument("transactions", metavar="STREAM", help="Debezium's stream of transactions, scope/stream")
    whole.add_argument(
        "--table",
        action="append",
        required=True,
        metavar="NAME=STREAM",
        help="a table, as Debezium calls it, and the stream of its changes: public.orders=shop/inv.public.orders",
    )
    whole.add_argument(
        "--start", action="append", default=[], metavar="CUT", help="where the range of a stream starts (its head)"
    )
    whole.add_argument(
        "--end", action="append", default=[], metavar="CUT", help="where the range of a stream is to end (its tail)"
    )
    whole.add_argument("--json", action="store_true", help="print JSON")
    add_controller(whole)
    whole.set_defaults(action=_whole)


async def _whole(client: PravegaClient, options: argparse.Namespace) -> int:
    streams = {name: StreamName.parse(stream, client.config.scope) for name, stream in map(_parts, options.table)}
    starts, ends = _by_stream(options.start, streams.values()), _by_stream(options.end, streams.values())
    ranges = {
        stream: StreamCutRange(starts.get(stream) or await client.head(stream), ends.get(stream, UNBOUNDED))
        for stream in streams.values()
    }
    transactions = StreamName.parse(options.transactions, client.config.scope)
    found = await whole_transactions(client, {name: ranges[stream] for name, stream in streams.items()}, transactions)
    if options.json:
        texts = {str(stream): end.to_text() for stream, end in found.ends.items()}
        print(json.dumps({"ends": texts, "waits_for": found.waits_for}, indent=2))
        return 0
    print(table(("stream", "end"), [(stream, end.to_text()) for stream, end in found.ends.items()]))
    for transaction, missing in found.waits_for.items():
        print(f"transaction {transaction}: {'no end yet' if missing is None else f'{missing:,} changes are missing'}")
    return 0


def _parts(text: str) -> tuple[str, str]:
    name, is_there, stream = text.partition("=")
    if not is_there:
        raise ConfigurationError(f"--table {text}: write NAME=STREAM, for example public.orders=shop/inv.public.orders")
    return name, stream


def _by_stream(texts: Iterable[str], streams: Iterable[StreamName]) -> dict[StreamName | None, StreamCut]:
    cuts = {cut.stream: cut for cut in map(StreamCut.from_text, texts)}
    others = cuts.keys() - set(streams)
    if others:
        raise ConfigurationError(f"there is a cut of {others.pop() or 'no stream'}, which no --table has")
    return cuts

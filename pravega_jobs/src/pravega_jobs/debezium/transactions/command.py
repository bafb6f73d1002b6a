"""The command `pravega cuts whole`: ends of tables' ranges that cut no transaction of the database."""

from collections.abc import Iterable

from aiopravega.client import PravegaClient
from aiopravega.commands.common import Option, Options, show, table, verb
from aiopravega.commands.grammar import Argument, Topic
from aiopravega.cuts import UNBOUNDED, StreamCut, StreamCutRange
from aiopravega.errors import ConfigurationError
from aiopravega.names import StreamName
from pravega_jobs.debezium.transactions.cuts import whole_transactions


def add_whole(topic: Topic) -> None:
    """Add the command."""
    verb(
        topic,
        "whole",
        Argument("transactions", "SCOPE/STREAM", "Debezium's stream of transactions"),
        Option(
            ["--table", "tables"],
            multiple=True,
            required=True,
            metavar="NAME=STREAM",
            help="a table, as Debezium calls it, and the stream of its changes: public.orders=shop/inv.public.orders",
        ),
        Option(["--start"], multiple=True, metavar="CUT", help="where the range of a stream starts (its head)"),
        Option(["--end"], multiple=True, metavar="CUT", help="where the range of a stream is to end (its tail)"),
    )(_whole)


async def _whole(client: PravegaClient, options: Options) -> int:
    """Print the last cuts of tables' streams that go through no transaction, by Debezium's events."""
    streams = {name: StreamName.parse(stream, client.config.scope) for name, stream in map(_parts, options.tables)}
    starts, ends = _by_stream(options.start, streams.values()), _by_stream(options.end, streams.values())
    ranges = {
        stream: StreamCutRange(starts.get(stream) or await client.head(stream), ends.get(stream, UNBOUNDED))
        for stream in streams.values()
    }
    transactions = StreamName.parse(options.transactions, client.config.scope)
    whole_ends = await whole_transactions(
        client, {name: ranges[stream] for name, stream in streams.items()}, transactions
    )
    texts = {str(stream): end.to_text() for stream, end in whole_ends.ends.items()}
    lines = [table(("stream", "end"), list(texts.items()))]
    for transaction, missing in whole_ends.waits_for.items():
        said = "no end yet" if missing is None else f"{missing:,} changes are missing"
        lines.append(f"transaction {transaction}: {said}")
    return show(options, {"ends": texts, "waits_for": whole_ends.waits_for}, "\n".join(lines))


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

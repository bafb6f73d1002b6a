"""The command `pravega read`: it prints the events of a stream, one a line.

It ends at the tail as it was at the start, unless it is to follow; an interrupt then prints the cut to continue from.
Memory holds some megabytes, however long the stream is.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from datetime import timedelta
from typing import Any, Final

import click

from aiopravega.client import PravegaClient
from aiopravega.commands.common import REGISTRY, SPAN, STREAM, Option, Options, stream_of, verb
from aiopravega.commands.grammar import DONE, SHOWN_CONTROLS
from aiopravega.cuts import UNBOUNDED, StreamCut, StreamCutRange
from aiopravega.errors import ConfigurationError, MalformedEventError, NoWatermarksError, PravegaError
from aiopravega.names import StreamName
from aiopravega.positions import NamedCut
from aiopravega.read import Event, EventPointer
from aiopravega.read.calls import find_range
from aiopravega.read.follow import Follower

# A value for JSON, and its text.
Decode = Callable[[bytes], Awaitable[Any]]
_FORMATS: Final = ("text", "hex", "json", "registry")


@verb(
    None,
    "read",
    STREAM,
    *SPAN,
    Option(["--tail"], is_flag=True, help="start at the tail, and follow"),
    Option(["--follow"], is_flag=True, help="print new events too, until the stream is sealed, or Ctrl-C"),
    Option(["--max", "most"], type=click.IntRange(min=1), metavar="N", help="end after so many events"),
    Option(
        ["--format", "form"],
        type=click.Choice(_FORMATS),
        default="text",
        help="what an event is: text (the default), bytes shown as hex, JSON, or decoded by the Schema Registry",
    ),
    REGISTRY,
    Option(["--group"], help="of the registry, with --format registry; default: that of the stream"),
)
async def command(client: PravegaClient, options: Options) -> int:
    """Print the events of a stream, one a line: all, those between cuts or event times, or new ones.

    With --json a line has the event, its segment, its offset there and its pointer. Event times need watermarks, which
    writers cause by noting times: the range that is read surely has all events of the times, and may have others.
    """
    stream = stream_of(client, options)
    follows = options.follow or options.tail
    if follows and (options.end is not None or options.until is not None):
        raise ConfigurationError("--follow and --tail have no end: leave --end and --to out")
    wanted = await _range(client, stream, options)
    async with _decoding(client, stream, options) as decode:
        if follows:
            return await _follow(client.follow(stream, since=wanted.start), decode, options)
        left = options.most
        async with aclosing(client.read(wanted)) as events:
            async for event in events:
                await _print(event, decode, options)
                if left is not None and (left := left - 1) == 0:
                    break
    return DONE


async def _follow(events: Follower, decode: Decode, options: Options) -> int:
    left = options.most
    current: Event | None = None  # until it is printed
    async with events:
        try:
            async for event in events:
                current = event
                await _print(event, decode, options)
                current = None
                if left is not None and (left := left - 1) == 0:
                    break
                if not events.ready:
                    sys.stdout.flush()
        except (PravegaError, asyncio.CancelledError):
            positions = dict(events.cut.positions)
            if current is not None:
                positions[current.segment] = current.offset
            sys.stdout.flush()
            cut = StreamCut(events.stream, positions).to_text()
            click.echo(f"to continue: pravega read {events.stream} --follow --start {cut}", err=True)
            raise
    return DONE


async def _range(client: PravegaClient, stream: StreamName, options: Options) -> StreamCutRange:
    by_cut = options.start is not None or options.end is not None or options.tail
    if options.since is None and options.until is None:
        if options.tail and options.start is not None:
            raise ConfigurationError("--tail starts at the tail: leave --start out")
        start = NamedCut.TAIL if options.tail else options.start or UNBOUNDED
        return await find_range(client, stream, start, options.end or UNBOUNDED)
    if by_cut:
        raise ConfigurationError("give cuts (--start, --end, --tail) or event times (--from, --to), not both")
    if options.since is None:
        raise ConfigurationError("--to goes with --from: to start at the head, give an early time, and --clip")
    # Without an end: the start of a short interval is that of all that follow.
    until = options.until or options.since + timedelta(seconds=1)
    try:
        found = await client.range_for(
            stream, (options.since, until), ahead=options.ahead, clip=options.clip, from_head=True, unit=options.unit
        )
    except NoWatermarksError as error:
        raise NoWatermarksError(f"{error}. Until then, read by cuts: --start and --end") from None
    return await find_range(client, stream, found.start, UNBOUNDED if options.until is None else found.end)


async def _print(event: Event, decode: Decode, options: Options) -> None:
    value = await decode(event.data)
    if options.json:
        line = {
            "event": value,
            "segment": str(event.segment),
            "offset": event.offset,
            "pointer": str(EventPointer.of(event)),
        }
        text = json.dumps(line, ensure_ascii=False, default=str)
    elif isinstance(value, str) and options.form in ("text", "hex"):
        text = value.translate(SHOWN_CONTROLS) if sys.stdout.isatty() else value
    else:
        text = json.dumps(value, ensure_ascii=False, default=str)
    print(text)


@asynccontextmanager
async def _decoding(client: PravegaClient, stream: StreamName, options: Options) -> AsyncIterator[Decode]:
    if options.form != "registry":
        yield _PLAIN[options.form]
        return
    from aiopravega.schema import RegistryConfig, SchemaRegistry
    from aiopravega.schema.open import GroupAddress, need_group
    from aiopravega.schema.serializers import open_deserializer

    async with SchemaRegistry(RegistryConfig.beside(client.config, options.registry)) as registry:
        group = await need_group(registry, GroupAddress.of_stream(stream, options.group))
        deserializer = await open_deserializer(registry, group.name, namespace=group.namespace)

        async def decode(data: bytes) -> Any:
            return _plain(await deserializer.deserialize(data))

        yield decode


def _plain(value: Any) -> Any:
    """A decoded value as JSON has it."""
    if hasattr(value, "DESCRIPTOR"):
        from google.protobuf.json_format import MessageToDict

        return MessageToDict(value, preserving_proto_field_name=True)
    return value


async def _as_text(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")


async def _as_hex(data: bytes) -> str:
    return data.hex()


async def _as_json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError as error:
        raise MalformedEventError(
            f"an event is not JSON ({error}): {data[:60]!r}; read it with --format text"
        ) from None


_PLAIN: Final = {"text": _as_text, "hex": _as_hex, "json": _as_json}

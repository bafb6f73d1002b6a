"""Changes of reader groups: `pravega groups create`, `reset`, `delete`, `checkpoint` and `offline`."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

import click

from aiopravega.client import PravegaClient
from aiopravega.commands.common import (
    DURATION,
    LEDGER,
    TIME,
    YES,
    Option,
    Options,
    decided,
    ledger_of,
    show,
    verb,
)
from aiopravega.commands.grammar import NO, Argument, Topic
from aiopravega.control import GroupRetention
from aiopravega.control.reader_groups import CHECKPOINT_INTERVAL
from aiopravega.cuts import UNBOUNDED, StreamCutRange
from aiopravega.errors import ConfigurationError
from aiopravega.groups.parts import Part, parse_part
from aiopravega.names import StreamName
from aiopravega.times import TimeUnit

_TIMEOUT: Final = timedelta(seconds=60)


GROUP: Final = Argument("group", "SCOPE/GROUP", "or GROUP, in the scope PRAVEGA_SCOPE")
_FORCE: Final = Option(["--force"], is_flag=True, help="although readers are online, or are Flink's")
_PARTS: Final = (
    Argument("parts", "[STREAM or CUT]...", "from the head of a stream, or from a cut", nargs=-1),
    Option(["--latest"], is_flag=True, help="from the tails of these streams"),
    Option(["--interval"], metavar="NAME", help="the range of this interval of --consumer"),
    Option(["--from", "since"], type=TIME, metavar="TIME", help="from this event time on"),
    Option(["--to", "until"], type=TIME, metavar="TIME", help="with --from: the end, not included"),
    Option(["--ahead"], type=DURATION, metavar="DURATION", help="with --from: how much newer than noted events may be"),
    Option(["--consumer"], metavar="NAME", help="with --interval: of whom"),
    LEDGER,
)


def add_moves(topic: Topic) -> None:
    """Add the commands."""
    every = Option(
        ["--checkpoint-every"],
        type=DURATION,
        default=CHECKPOINT_INTERVAL,
        metavar="DURATION",
        help="automatically (30s)",
    )
    never = Option(["--no-checkpoints"], is_flag=True, help="none automatically: it waits at each scaling")
    retention = Option(
        ["--retention"],
        type=click.Choice([each.name.lower() for each in GroupRetention]),
        default=GroupRetention.NONE.name.lower(),
        help="whether consumption-based retention waits for it, and for what: none",
    )
    name = Option(["--name"], help="of the checkpoint; default: a new one")
    timeout = Option(
        ["--timeout"],
        type=DURATION,
        default=_TIMEOUT,
        metavar="DURATION",
        help="how long to wait for the readers (60s)",
    )
    watch = Option(
        ["--watch"], type=DURATION, metavar="DURATION", help="how long it must be silent; default: as long as is needed"
    )
    verb(topic, "create", GROUP, *_PARTS, every, never, retention)(_create)
    verb(topic, "reset", GROUP, *_PARTS, YES, _FORCE)(_reset)
    verb(topic, "delete", GROUP, YES, _FORCE)(_delete)
    verb(topic, "checkpoint", GROUP, name, timeout, _FORCE)(_checkpoint)
    verb(topic, "offline", GROUP, Argument("reader", "READER", "its name, as show has it"), watch, YES, _FORCE)(
        _offline
    )


def group_name(client: PravegaClient, text: str) -> tuple[str, str]:
    """Read the scope and the name of a group: `scope/group`, or `group` in the default scope."""
    scope, slash, name = text.rpartition("/")
    if not slash and client.config.scope is None:
        raise ConfigurationError(f"group {text!r} has no scope: write scope/group, or set PRAVEGA_SCOPE")
    return scope or client.config.scope or "", name


async def _parts(client: PravegaClient, options: Options) -> list[Part]:
    given = [parse_part(text, client.config.scope) for text in options.parts]
    if sum((options.latest, options.interval is not None, options.since is not None)) > 1:
        raise ConfigurationError("give one of --latest, --interval and --from")
    if not (options.latest or options.interval or options.since):
        if options.until or options.ahead or options.consumer:
            raise ConfigurationError("--to and --ahead go with --from, --consumer goes with --interval")
        return given
    streams = [part for part in given if isinstance(part, StreamName)]
    if not streams or len(streams) < len(given):
        raise ConfigurationError("with --latest, --interval or --from, name the streams, and no cuts")
    if options.latest:
        return [await client.tail(stream) for stream in streams]
    if options.interval:
        return [await _interval(client, options, stream) for stream in streams]
    return [await _of_times(client, options, stream) for stream in streams]


async def _interval(client: PravegaClient, options: Options, stream: StreamName) -> StreamCutRange:
    if not options.consumer:
        raise ConfigurationError("--interval needs a consumer: give --consumer")
    records = await ledger_of(client, options, stream.scope).records(options.consumer, stream)
    for record in records:
        if record.interval == options.interval:
            return record.range
    raise ConfigurationError(f"{options.consumer!r} has no interval {options.interval!r} of {stream}")


async def _of_times(client: PravegaClient, options: Options, stream: StreamName) -> StreamCutRange:
    until = options.until or options.since + timedelta(milliseconds=1)
    of_times = await client.range_for(stream, (options.since, until), ahead=options.ahead, unit=TimeUnit.MS)
    return of_times if options.until else StreamCutRange(of_times.start, UNBOUNDED)


async def _create(client: PravegaClient, options: Options) -> int:
    """Make a group for Java's readers."""
    scope, name = group_name(client, options.group)
    done = await client.create_reader_group(
        scope,
        name,
        await _parts(client, options),
        checkpoint_interval=None if options.no_checkpoints else options.checkpoint_every,
        retention=GroupRetention[options.retention.upper()],
    )
    said = "made" if done else "exists already, set up so"
    values = {"group": f"{scope}/{name}", "made": done}
    return show(options, values, f"{scope}/{name}: {said}", yes=done)


async def _reset(client: PravegaClient, options: Options) -> int:
    """Have a group start again: at its last checkpoint, or where you say."""
    scope, name = group_name(client, options.group)
    parts = await _parts(client, options)
    described = await client.describe_reader_group(scope, name)
    last = described.last_checkpoint
    where = "the given positions" if parts else f"its last checkpoint ({last.name if last else 'there is none'})"
    readers = ", ".join(described.readers) or "(none)"
    if not decided(options, f"{scope}/{name} has the readers {readers}. It starts again at {where}."):
        return NO
    starts = await client.reset_reader_group(scope, name, parts or None, force=options.force)
    cuts = {str(stream): cut.to_text() for stream, cut in starts.items()}
    lines = "".join(f"\n  {stream} from {cut}" for stream, cut in cuts.items())
    return _say(options, {"group": f"{scope}/{name}", "starts": cuts}, f"starts again{lines}")


async def _delete(client: PravegaClient, options: Options) -> int:
    """Delete a group with its state."""
    scope, name = group_name(client, options.group)
    described = await client.describe_reader_group(scope, name)
    if not decided(
        options, f"{scope}/{name} has the readers {', '.join(described.readers) or '(none)'}. It is deleted."
    ):
        return NO
    await client.delete_reader_group(scope, name, force=options.force)
    return _say(options, {"group": f"{scope}/{name}", "deleted": True}, "deleted")


async def _offline(client: PravegaClient, options: Options) -> int:
    """Say that a reader is dead, so that others take its segments."""
    scope, name = group_name(client, options.group)
    segments = (await client.describe_reader_group(scope, name)).readers.get(options.reader)
    has = "is not in the group" if segments is None else f"has {len(segments)} segments"
    if not decided(options, f"reader {options.reader!r} of {scope}/{name} {has}. It is taken out."):
        return NO
    watch = None if options.watch is None else options.watch.total_seconds()
    freed = await client.reader_offline(scope, name, options.reader, watch=watch, force=options.force)
    offsets = {str(segment): offset for segment, offset in freed.items()}
    lines = "".join(f"\n  {segment} from {offset:,}" for segment, offset in offsets.items())
    values = {"group": f"{scope}/{name}", "reader": options.reader, "segments": offsets}
    return _say(options, values, f"is gone{lines}")


async def _checkpoint(client: PravegaClient, options: Options) -> int:
    """Have all readers reach a checkpoint, and print its cuts."""
    scope, name = group_name(client, options.group)
    made = await client.checkpoint_reader_group(
        scope, name, options.name, timeout=options.timeout.total_seconds(), force=options.force
    )
    cuts = {str(stream): cut.to_text() for stream, cut in made.cuts.items()}
    lines = "".join(f"\n  {stream} at {cut}" for stream, cut in cuts.items())
    values = {"group": f"{scope}/{name}", "name": made.name, "cuts": cuts}
    return _say(options, values, f"checkpoint {made.name!r}{lines}")


def _say(options: Options, values: Mapping[str, object], text: str) -> int:
    return show(options, values, f"{values['group']}: {text}")

"""Changes of reader groups: `pravega groups create`, `reset`, `delete`, `checkpoint` and `offline`."""

import argparse
from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from aiopravega.client import PravegaClient
from aiopravega.commands.common import (
    Commands,
    add_cluster,
    add_command,
    add_controller,
    add_json,
    add_yes,
    duration,
    event_time,
    ledger_of,
    only_say,
    show,
)
from aiopravega.control import GroupRetention
from aiopravega.control.reader_groups import CHECKPOINT_INTERVAL
from aiopravega.cuts import UNBOUNDED, StreamCutRange
from aiopravega.errors import ConfigurationError
from aiopravega.groups.parts import Part, parse_part
from aiopravega.names import StreamName
from aiopravega.times import TimeUnit

_TIMEOUT: Final = timedelta(seconds=60)


def add_moves(commands: Commands) -> None:
    """Add the commands."""
    created = add_command(commands, "create", _create, "make a group for Java's readers")
    created.add_argument(
        "--checkpoint-every", type=duration, default=CHECKPOINT_INTERVAL, metavar="DURATION", help="automatically (30s)"
    )
    created.add_argument("--no-checkpoints", action="store_true", help="none automatically: it waits at each scaling")
    created.add_argument(
        "--retention",
        choices=[each.name.lower() for each in GroupRetention],
        default=GroupRetention.NONE.name.lower(),
        help="whether consumption-based retention waits for it, and for what: none",
    )
    reset = add_command(commands, "reset", _reset, "have a group start again: at its last checkpoint, or where you say")
    for each in (created, reset):
        each.add_argument("group", metavar="SCOPE/GROUP")
        each.add_argument("parts", nargs="*", metavar="STREAM or CUT", help="from the head of a stream, or from a cut")
        where = each.add_mutually_exclusive_group()
        where.add_argument("--latest", action="store_true", help="from the tails of these streams")
        where.add_argument("--interval", metavar="NAME", help="the range of this interval of --consumer")
        where.add_argument("--from", dest="since", type=event_time, metavar="TIME", help="from this event time on")
        each.add_argument(
            "--to", dest="until", type=event_time, metavar="TIME", help="with --from: the end, not included"
        )
        each.add_argument("--ahead", type=duration, help="with --from: how much newer than noted events may be")
        each.add_argument("--consumer", metavar="NAME", help="with --interval: of whom")
    for each in (created, reset):
        add_cluster(each)
    deleted = add_command(commands, "delete", _delete, "delete a group with its state")
    marked = add_command(commands, "checkpoint", _checkpoint, "have all readers reach a checkpoint, and print its cuts")
    marked.add_argument("--name", help="of the checkpoint; default: a new one")
    marked.add_argument("--timeout", type=duration, default=_TIMEOUT, help="how long to wait for the readers (60s)")
    gone = add_command(commands, "offline", _offline, "say that a reader is dead, so that others take its segments")
    for each in (deleted, marked, gone):
        each.add_argument("group", metavar="SCOPE/GROUP")
        add_controller(each)
    gone.add_argument("reader", help="its name, as describe shows it")
    gone.add_argument(
        "--watch", type=duration, metavar="DURATION", help="how long it must be silent; default: as long as is needed"
    )
    for each in (reset, deleted, gone):
        add_yes(each)
    for each in (reset, deleted, marked, gone):
        each.add_argument("--force", action="store_true", help="although readers are online, or are Flink's")
    for each in (created, reset, deleted, marked, gone):
        add_json(each)


def group_name(client: PravegaClient, text: str) -> tuple[str, str]:
    """Read the scope and the name of a group: `scope/group`, or `group` in the default scope."""
    scope, slash, name = text.rpartition("/")
    if not slash and client.config.scope is None:
        raise ConfigurationError(f"group {text!r} has no scope: write scope/group, or set PRAVEGA_SCOPE")
    return scope or client.config.scope or "", name


async def _parts(client: PravegaClient, options: argparse.Namespace) -> list[Part]:
    given = [parse_part(text, client.config.scope) for text in options.parts]
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


async def _interval(client: PravegaClient, options: argparse.Namespace, stream: StreamName) -> StreamCutRange:
    if not options.consumer:
        raise ConfigurationError("--interval needs a consumer: give --consumer")
    records = await ledger_of(client, options, stream.scope).records(options.consumer, stream)
    for record in records:
        if record.interval == options.interval:
            return record.range
    raise ConfigurationError(f"{options.consumer!r} has no interval {options.interval!r} of {stream}")


async def _of_times(client: PravegaClient, options: argparse.Namespace, stream: StreamName) -> StreamCutRange:
    until = options.until or options.since + timedelta(milliseconds=1)
    of_times = await client.range_for(stream, (options.since, until), ahead=options.ahead, unit=TimeUnit.MS)
    return of_times if options.until else StreamCutRange(of_times.start, UNBOUNDED)


async def _create(client: PravegaClient, options: argparse.Namespace) -> int:
    scope, name = group_name(client, options.group)
    done = await client.create_reader_group(
        scope,
        name,
        await _parts(client, options),
        checkpoint_interval=None if options.no_checkpoints else options.checkpoint_every,
        retention=GroupRetention[options.retention.upper()],
    )
    return _say(options, {"group": f"{scope}/{name}", "made": done}, "made" if done else "exists already, set up so")


async def _reset(client: PravegaClient, options: argparse.Namespace) -> int:
    scope, name = group_name(client, options.group)
    parts = await _parts(client, options)
    if not options.yes:
        described = await client.describe_reader_group(scope, name)
        last = described.last_checkpoint
        where = "the given positions" if parts else f"its last checkpoint ({last.name if last else 'there is none'})"
        readers = ", ".join(described.readers) or "(none)"
        return only_say(f"{scope}/{name} has the readers {readers}. To have it start again at {where}, say --yes.")
    starts = await client.reset_reader_group(scope, name, parts or None, force=options.force)
    cuts = {str(stream): cut.to_text() for stream, cut in starts.items()}
    lines = "".join(f"\n  {stream} from {cut}" for stream, cut in cuts.items())
    return _say(options, {"group": f"{scope}/{name}", "starts": cuts}, f"starts again{lines}")


async def _delete(client: PravegaClient, options: argparse.Namespace) -> int:
    scope, name = group_name(client, options.group)
    if not options.yes:
        described = await client.describe_reader_group(scope, name)
        readers = ", ".join(described.readers) or "(none)"
        return only_say(f"{scope}/{name} has the readers {readers}. To delete it, say --yes.")
    await client.delete_reader_group(scope, name, force=options.force)
    return _say(options, {"group": f"{scope}/{name}", "deleted": True}, "deleted")


async def _offline(client: PravegaClient, options: argparse.Namespace) -> int:
    scope, name = group_name(client, options.group)
    if not options.yes:
        described = await client.describe_reader_group(scope, name)
        segments = described.readers.get(options.reader)
        has = "is not in the group" if segments is None else f"has {len(segments)} segments"
        return only_say(f"reader {options.reader!r} of {scope}/{name} {has}. To take it out, say --yes.")
    watch = None if options.watch is None else options.watch.total_seconds()
    freed = await client.reader_offline(scope, name, options.reader, watch=watch, force=options.force)
    offsets = {str(segment): offset for segment, offset in freed.items()}
    lines = "".join(f"\n  {segment} from {offset:,}" for segment, offset in offsets.items())
    values = {"group": f"{scope}/{name}", "reader": options.reader, "segments": offsets}
    return _say(options, values, f"is gone{lines}")


async def _checkpoint(client: PravegaClient, options: argparse.Namespace) -> int:
    scope, name = group_name(client, options.group)
    made = await client.checkpoint_reader_group(
        scope, name, options.name, timeout=options.timeout.total_seconds(), force=options.force
    )
    cuts = {str(stream): cut.to_text() for stream, cut in made.cuts.items()}
    lines = "".join(f"\n  {stream} at {cut}" for stream, cut in cuts.items())
    values = {"group": f"{scope}/{name}", "name": made.name, "cuts": cuts}
    return _say(options, values, f"checkpoint {made.name!r}{lines}")


def _say(options: argparse.Namespace, values: Mapping[str, object], text: str) -> int:
    return show(options, values, f"{values['group']}: {text}")

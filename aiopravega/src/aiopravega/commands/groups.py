"""The command `pravega groups`: positions and lag of reader groups, by which Java and Flink read.

The commands that change groups are in `group_moves`.
"""

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import click

from aiopravega.client import PravegaClient
from aiopravega.commands.common import DURATION, SCOPE, Option, Options, scope_of, show, table, verb
from aiopravega.commands.grammar import DONE, Argument, Topic
from aiopravega.commands.group_moves import GROUP, add_moves, group_name
from aiopravega.cuts import UNBOUNDED, StreamCutRange
from aiopravega.errors import ConfigurationError, PravegaError
from aiopravega.groups import JavaCheckpoint, ReaderGroupDescription, flink_sql_options
from aiopravega.intervals.reports.picture import LagPoint, lag_line
from aiopravega.names import SegmentId

_NO_CHECKPOINT: Final = "none"
# The first bytes of a file `_metadata`.
_FLINK_METADATA: Final = bytes.fromhex("4960672d")
_EVERY: Final = timedelta(seconds=5)


command = Topic(name="groups", help="Reader groups of Java and Flink: how far they are, and moving them.")


@verb(command, "list", SCOPE)
async def _list(client: PravegaClient, options: Options) -> int:
    """List the groups of a scope, with their readers and their lag."""
    scope = scope_of(client, options.scope)
    names = await client.reader_groups(scope)
    described = await asyncio.gather(*(_described(client, scope, name) for name in names))
    rows = [_row(name, each) for name, each in zip(names, described, strict=True)]
    text = table(("group", "readers", "segments", "lag", "unread", "checkpoint", "note"), rows)
    return show(options, [_json(f"{scope}/{name}", each) for name, each in zip(names, described, strict=True)], text)


async def _described(client: PravegaClient, scope: str, name: str) -> ReaderGroupDescription | PravegaError:
    """The description of a group, or its error, so that the other groups are still listed."""
    try:
        return await client.describe_reader_group(scope, name)
    except PravegaError as error:
        return error


def _json(name: str, described: ReaderGroupDescription | PravegaError) -> dict[str, object]:
    if isinstance(described, PravegaError):
        return {"group": name, "error": f"{type(described).__name__}: {described}"}
    return described.to_json()


def _row(name: str, described: ReaderGroupDescription | PravegaError) -> tuple[object, ...]:
    if isinstance(described, PravegaError):
        return name, "", "", "", "", "", f"{type(described).__name__}: {described}"
    if not described.has_state:
        return name, 0, "", "", "", "", "a subscriber without readers"
    segments = len(described.unassigned) + sum(map(len, described.readers.values()))
    last = described.last_checkpoint
    checkpoint = _NO_CHECKPOINT if last is None else last.name or "has no name"
    return (
        name,
        len(described.readers),
        segments,
        f"{described.lag_bytes:,}",
        f"{described.unread_bytes:,}",
        checkpoint,
        _note(described),
    )


def _note(described: ReaderGroupDescription) -> str:
    """A hint for people: a state that needs an action, or explains the numbers; empty if there is none."""
    if described.needs_checkpoint:
        return (
            "waits at a scaling, without automatic checkpoints: nothing more is read until somebody makes one: "
            f"pravega groups checkpoint {described.scope}/{described.name}"
        )
    if any(each.is_truncated for each in described.streams):
        return "retention has removed events that it has not read"
    if described.waiting_checkpoints:
        return f"checkpoints under way: {', '.join(map(repr, described.waiting_checkpoints))}"
    if described.is_published:
        return "published by a subscriber or a query of Spark"
    return ""


@verb(command, "show", GROUP)
async def _show(client: PravegaClient, options: Options) -> int:
    """Show how a group is set up, who reads what, and its cuts."""
    described = await client.describe_reader_group(*group_name(client, options.group))
    return show(options, described.to_json(), "\n".join(_lines(described)))


def _lines(described: ReaderGroupDescription) -> list[str]:
    config = described.config
    lines = [
        f"group: {described.scope}/{described.name} (id {config.group_id}, generation {config.generation})",
        f"automatic checkpoints: {config.checkpoint_interval or _NO_CHECKPOINT}",
        f"retention waits for it: {config.retention.name.lower()}",
    ]
    if not described.has_state:
        return [*lines, "it has no readers: a subscriber that reports its position by itself"]
    lines += ["no readers: a subscriber or a query of Spark publishes the position"] if described.is_published else []
    lines += [f"reader {reader}: {_segments(segments)}" for reader, segments in described.readers.items()]
    lines += [f"no reader: {_segments(described.unassigned)}"] if described.unassigned or not described.readers else []
    last = described.last_checkpoint
    lines += [f"last checkpoint: {_NO_CHECKPOINT if last is None else last.name or 'has no name'}"]
    for name, readers in described.waiting_checkpoints.items():
        lines.append(f"checkpoint {name!r} waits for {', '.join(readers)}")
    for each in described.streams:
        lines += [
            f"stream {each.stream}: lag {each.lag_bytes:,} bytes, unread {each.unread_bytes:,} bytes",
            f"  position: {each.position.to_text()}",
            f"  read: {each.read.to_text()}",
        ]
        lines += [f"  checkpoint: {each.checkpoint.to_text()}"] if each.checkpoint is not None else []
        lines += [f"  end: {each.end.to_text()}"] if each.end is not None else []
    return lines + ([_note(described)] if _note(described) else [])


def _segments(offsets: Mapping[SegmentId, int]) -> str:
    return ", ".join(f"{segment} from {offset:,}" for segment, offset in offsets.items()) or "no segment"


@verb(
    command,
    "lag",
    GROUP,
    Option(["--for", "watch"], type=DURATION, metavar="DURATION", help="draw it for so long: 90s, 15m, 1h"),
    Option(
        ["--every"], type=DURATION, default=_EVERY, metavar="DURATION", help="between two lines of the picture (5s)"
    ),
)
async def _lag(client: PravegaClient, options: Options) -> int:
    """Show what is left to read, once or again and again as a picture."""
    scope, name = group_name(client, options.group)
    if options.watch is not None:
        await _draw(client, scope, name, options)
        return DONE
    described = await client.describe_reader_group(scope, name)
    streams = described.need_streams()
    parts = [{"stream": str(e.stream), "lag_bytes": e.lag_bytes, "unread_bytes": e.unread_bytes} for e in streams]
    values = {
        "group": f"{scope}/{name}",
        "lag_bytes": described.lag_bytes,
        "unread_bytes": described.unread_bytes,
        "needs_checkpoint": described.needs_checkpoint,
        "streams": parts,
    }
    rows = [(each.stream, f"{each.lag_bytes:,}", f"{each.unread_bytes:,}") for each in streams]
    text = table(("stream", "lag: bytes after what was read", "unread: bytes after the last checkpoint"), rows)
    note = _note(described)
    return show(options, values, f"{text}\n{note}" if note else text)


async def _draw(client: PravegaClient, scope: str, name: str, options: Options) -> None:
    """Print a line for each moment, with a bar: the lag relative to the greatest so far."""
    ends, greatest, said = time.monotonic() + options.watch.total_seconds(), 1, ""
    while True:
        described = await client.describe_reader_group(scope, name)
        greatest = max(greatest, described.lag_bytes)
        point = LagPoint(datetime.now(UTC), described.lag_bytes, described.unread_bytes)
        if options.json:
            print(json.dumps({**asdict(point), "time": point.time.isoformat()}), flush=True)
        else:
            print(lag_line(point, greatest), flush=True)
        if (note := _note(described)) and note != said and not options.json:
            print(note)
        said = note
        pause = min(options.every.total_seconds(), ends - time.monotonic())
        if pause <= 0:
            break
        await asyncio.sleep(pause)


@verb(
    command,
    "decode",
    Argument("file", "FILE", "the bytes that Java's Checkpoint.toBytes() gave", type=click.Path(path_type=Path)),
    Option(["--flink-sql"], is_flag=True, help="print options of a table of Flink that is read from there"),
    has_client=False,
)
async def _decode(options: Options) -> int:
    """Show the cuts in a checkpoint's bytes, as Java and Flink keep it."""
    try:
        data = options.file.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"cannot read {options.file}: {error}") from error
    if data.startswith(_FLINK_METADATA):
        raise ConfigurationError(
            f"{options.file} is the metadata of a savepoint of Flink: the checkpoint is in it as the state of the "
            "source, and is not looked for. `pravega groups show` shows the cuts of the group's last checkpoint, "
            "which Flink names PVG-CHK- and the checkpoint's number"
        )
    checkpoint = JavaCheckpoint.from_bytes(data)
    if options.flink_sql:
        print(flink_sql_options([StreamCutRange(cut, UNBOUNDED) for cut in checkpoint.cuts.values()]))
        return DONE
    cuts = {str(stream): cut.to_text() for stream, cut in checkpoint.cuts.items()}
    return show(options, {"name": checkpoint.name, "cuts": cuts}, table(("stream", "cut"), list(cuts.items())))


add_moves(command)

"""The command `pravega groups`: reader groups, through which Java and Flink read, and how far they are.

What changes them is in `group_moves`.
"""

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from aiopravega.client import PravegaClient
from aiopravega.commands.common import add_controller, duration, run, table
from aiopravega.commands.group_moves import add_moves, group_name
from aiopravega.cuts import UNBOUNDED, StreamCutRange
from aiopravega.errors import ConfigurationError, PravegaError
from aiopravega.groups import JavaCheckpoint, ReaderGroupDescription, flink_sql_options
from aiopravega.intervals.reports.lag_picture import LagPoint, draw_lag_png, lag_line
from aiopravega.intervals.reports.picture import plotting
from aiopravega.names import SegmentId

_NO_CHECKPOINT: Final = "none"
# The first bytes of a file `_metadata`.
_FLINK_METADATA: Final = bytes.fromhex("4960672d")
_EVERY: Final = timedelta(seconds=5)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code: 1 if nothing was done, 2 after an error."""
    parser = argparse.ArgumentParser(
        prog="pravega groups", description="Reader groups of Java and Flink: how far they are, and moving them."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    listed = commands.add_parser("list", help="list the groups of a scope, with their readers and their lag")
    listed.set_defaults(action=_list)
    listed.add_argument("scope", nargs="?", help="default: PRAVEGA_SCOPE")
    described = commands.add_parser("describe", help="show how a group is set up, who reads what, and its cuts")
    described.set_defaults(action=_describe)
    lag = commands.add_parser("lag", help="show what is left to read, once or again and again as a picture")
    lag.set_defaults(action=_lag)
    lag.add_argument("--for", dest="watch", type=duration, metavar="DURATION", help="draw it for so long: 90s, 15m, 1h")
    lag.add_argument("--output", type=Path, metavar="FILE.png", help="with --for: draw it into a file, too")
    lag.add_argument(
        "--every", type=duration, default=_EVERY, metavar="DURATION", help="between two lines of the picture (5s)"
    )
    for each in (described, lag):
        each.add_argument("group", metavar="SCOPE/GROUP")
    decoded = commands.add_parser("decode", help="show the cuts in a checkpoint's bytes, as Java and Flink keep it")
    decoded.set_defaults(action=_decode)
    decoded.add_argument("file", type=Path, help="the bytes that Java's Checkpoint.toBytes() gave")
    decoded.add_argument(
        "--flink-sql", action="store_true", help="print options of a table of Flink that is read from there"
    )
    for each in (listed, described, lag, decoded):
        add_controller(each)
        each.add_argument("--json", action="store_true", help="print JSON")
    add_moves(commands)
    return run(parser.parse_args(arguments))


async def _list(client: PravegaClient, options: argparse.Namespace) -> int:
    scope = options.scope or client.config.scope
    if scope is None:
        raise ConfigurationError("the groups of which scope? Name it, or set PRAVEGA_SCOPE")
    names = await client.reader_groups(scope)
    found = await asyncio.gather(*(_described(client, scope, name) for name in names))
    if options.json:
        print(json.dumps([_json(f"{scope}/{name}", each) for name, each in zip(names, found, strict=True)], indent=2))
        return 0
    rows = [_row(name, each) for name, each in zip(names, found, strict=True)]
    print(table(("group", "readers", "segments", "lag", "unread", "checkpoint", "note"), rows))
    return 0


async def _described(client: PravegaClient, scope: str, name: str) -> ReaderGroupDescription | PravegaError:
    """A group, or why it cannot be described: one that is broken does not hide the others."""
    try:
        return await client.describe_reader_group(scope, name)
    except PravegaError as error:
        return error


def _json(name: str, found: ReaderGroupDescription | PravegaError) -> dict[str, object]:
    if isinstance(found, PravegaError):
        return {"group": name, "error": f"{type(found).__name__}: {found}"}
    return found.to_json()


def _row(name: str, found: ReaderGroupDescription | PravegaError) -> tuple[object, ...]:
    if isinstance(found, PravegaError):
        return name, "", "", "", "", "", f"{type(found).__name__}: {found}"
    if not found.has_state:
        return name, 0, "", "", "", "", "a subscriber without readers"
    segments = len(found.unassigned) + sum(map(len, found.readers.values()))
    last = found.last_checkpoint
    checkpoint = _NO_CHECKPOINT if last is None else last.name or "has no name"
    return (
        name,
        len(found.readers),
        segments,
        f"{found.lag_bytes:,}",
        f"{found.unread_bytes:,}",
        checkpoint,
        _note(found),
    )


def _note(found: ReaderGroupDescription) -> str:
    """What a person has to know or to do."""
    if found.needs_checkpoint:
        return (
            "waits at a scaling, without automatic checkpoints: nothing more is read until somebody makes one: "
            f"pravega groups checkpoint {found.scope}/{found.name}"
        )
    if any(each.is_truncated for each in found.streams):
        return "retention has removed events that it has not read"
    if found.waiting_checkpoints:
        return f"checkpoints under way: {', '.join(map(repr, found.waiting_checkpoints))}"
    if found.is_published:
        return "published by a subscriber or a query of Spark"
    return ""


async def _describe(client: PravegaClient, options: argparse.Namespace) -> int:
    found = await client.describe_reader_group(*group_name(client, options.group))
    if options.json:
        print(json.dumps(found.to_json(), indent=2))
        return 0
    config = found.config
    lines = [
        f"group: {found.scope}/{found.name} (id {config.group_id}, generation {config.generation})",
        f"automatic checkpoints: {config.checkpoint_interval or _NO_CHECKPOINT}",
        f"retention waits for it: {config.retention.name.lower()}",
    ]
    if not found.has_state:
        print("\n".join([*lines, "it has no readers: a subscriber that reports its position by itself"]))
        return 0
    lines += ["no readers: a subscriber or a query of Spark publishes the position"] if found.is_published else []
    lines += [f"reader {reader}: {_segments(segments)}" for reader, segments in found.readers.items()]
    lines += [f"no reader: {_segments(found.unassigned)}"] if found.unassigned or not found.readers else []
    last = found.last_checkpoint
    lines += [f"last checkpoint: {_NO_CHECKPOINT if last is None else last.name or 'has no name'}"]
    for name, readers in found.waiting_checkpoints.items():
        lines.append(f"checkpoint {name!r} waits for {', '.join(readers)}")
    for each in found.streams:
        lines += [
            f"stream {each.stream}: lag {each.lag_bytes:,} bytes, unread {each.unread_bytes:,} bytes",
            f"  position: {each.position.to_text()}",
            f"  read: {each.read.to_text()}",
        ]
        lines += [f"  checkpoint: {each.checkpoint.to_text()}"] if each.checkpoint is not None else []
        lines += [f"  end: {each.end.to_text()}"] if each.end is not None else []
    print("\n".join(lines + ([_note(found)] if _note(found) else [])))
    return 0


def _segments(offsets: Mapping[SegmentId, int]) -> str:
    return ", ".join(f"{segment} from {offset:,}" for segment, offset in offsets.items()) or "no segment"


async def _lag(client: PravegaClient, options: argparse.Namespace) -> int:
    scope, name = group_name(client, options.group)
    if options.watch is None and options.output is not None:
        raise ConfigurationError("--output draws the lag over time: say --for how long")
    if options.watch is not None:
        await _draw(client, scope, name, options)
        return 0
    found = await client.describe_reader_group(scope, name)
    streams = found.need_streams()
    if options.json:
        parts = [{"stream": str(e.stream), "lag_bytes": e.lag_bytes, "unread_bytes": e.unread_bytes} for e in streams]
        print(
            json.dumps(
                {
                    "group": f"{scope}/{name}",
                    "lag_bytes": found.lag_bytes,
                    "unread_bytes": found.unread_bytes,
                    "needs_checkpoint": found.needs_checkpoint,
                    "streams": parts,
                },
                indent=2,
            )
        )
        return 0
    rows = [(each.stream, f"{each.lag_bytes:,}", f"{each.unread_bytes:,}") for each in streams]
    print(table(("stream", "lag: bytes after what was read", "unread: bytes after the last checkpoint"), rows))
    if note := _note(found):
        print(note)
    return 0


async def _draw(client: PravegaClient, scope: str, name: str, options: argparse.Namespace) -> None:
    """A line for each moment: its bar is the lag, in parts of the greatest one so far."""
    if options.output is not None:
        plotting()  # before the time is spent
    ends, greatest, said = time.monotonic() + options.watch.total_seconds(), 1, ""
    points: list[LagPoint] = []
    while True:
        found = await client.describe_reader_group(scope, name)
        greatest = max(greatest, found.lag_bytes)
        point = LagPoint(datetime.now(UTC), found.lag_bytes, found.unread_bytes)
        points.append(point)
        if options.json:
            print(json.dumps({**asdict(point), "time": point.time.isoformat()}), flush=True)
        else:
            print(lag_line(point, greatest), flush=True)
        if (note := _note(found)) and note != said and not options.json:
            print(note)
        said = note
        pause = min(options.every.total_seconds(), ends - time.monotonic())
        if pause <= 0:
            break
        await asyncio.sleep(pause)
    if options.output is not None:
        draw_lag_png(f"{scope}/{name}", points, options.output)
        print(options.output, file=sys.stderr if options.json else sys.stdout)


async def _decode(_: PravegaClient, options: argparse.Namespace) -> int:
    try:
        data = options.file.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"cannot read {options.file}: {error}") from error
    if data.startswith(_FLINK_METADATA):
        raise ConfigurationError(
            f"{options.file} is the metadata of a savepoint of Flink: the checkpoint is in it as the state of the "
            "source, and is not looked for. `pravega groups describe` shows the cuts of the group's last checkpoint, "
            "which Flink names PVG-CHK- and the checkpoint's number"
        )
    checkpoint = JavaCheckpoint.from_bytes(data)
    if options.flink_sql:
        print(flink_sql_options([StreamCutRange(cut, UNBOUNDED) for cut in checkpoint.cuts.values()]))
    elif options.json:
        cuts = {str(stream): cut.to_text() for stream, cut in checkpoint.cuts.items()}
        print(json.dumps({"name": checkpoint.name, "cuts": cuts}, indent=2))
    else:
        print(table(("stream", "cut"), [(stream, cut.to_text()) for stream, cut in checkpoint.cuts.items()]))
    return 0

"""Changes of streams: `pravega streams update`, `scale`, `truncate`, `seal` and `tag`."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Final

import click

from aiopravega.catalog import PravegaCatalog
from aiopravega.client import PravegaClient
from aiopravega.commands.common import (
    DURATION,
    POSITION,
    SIZE,
    STREAM,
    YES,
    Option,
    Options,
    decided,
    show,
    stream_of,
    verb,
)
from aiopravega.commands.grammar import NO, Argument, Topic
from aiopravega.control import RetentionPolicy, ScalingPolicy
from aiopravega.control.amend import amend_stream, reserved
from aiopravega.control.policies import MILLISECOND, NO_LIMIT, RetentionType, ScalingType
from aiopravega.errors import ConfigurationError
from aiopravega.read.calls import find_cut

_COUNT: Final = click.IntRange(min=1)
# The options about scaling and retention; those that are not given leave a stream as it is.
POLICIES: Final = (
    Option(["--segments"], type=_COUNT, metavar="N", help="how many segments it has, with a rate the least number (1)"),
    Option(["--events-per-second"], type=_COUNT, metavar="RATE", help="split a segment that takes more"),
    Option(["--kbytes-per-second"], type=_COUNT, metavar="RATE", help="or split a segment that takes more of these"),
    Option(["--split-into"], type=_COUNT, metavar="N", help="with a rate: the most parts of a split (2)"),
    Option(["--keep-bytes"], type=SIZE, metavar="SIZE", help="remove the oldest events beyond this, such as 10GiB"),
    Option(["--keep-time"], type=DURATION, metavar="DURATION", help="or remove events older than this, such as 7d"),
    Option(["--keep-all"], is_flag=True, help="remove no events; this is the default of a new stream"),
)


@asynccontextmanager
async def catalog_of(client: PravegaClient, options: Options) -> AsyncIterator[PravegaCatalog]:
    """The catalog, with the Schema Registry that the options or the environment name."""
    uri = options.registry or os.environ.get("PRAVEGA_SCHEMA_REGISTRY_URI")
    if uri is None:
        yield PravegaCatalog(client)
        return
    from aiopravega.schema import RegistryConfig, SchemaRegistry

    async with SchemaRegistry(RegistryConfig.beside(client.config, uri)) as registry:
        yield PravegaCatalog(client, registry)


def scaling_of(options: Options, before: ScalingPolicy | None = None) -> ScalingPolicy | None:
    """The scaling policy that the options name; None: they name none.

    Raises:
        ConfigurationError: they name two, or `--split-into` without a rate.
    """
    rates = [options.events_per_second, options.kbytes_per_second]
    if all(rates):
        raise ConfigurationError("give --events-per-second or --kbytes-per-second, not both")
    if not any(rates):
        if options.split_into is not None:
            raise ConfigurationError("--split-into goes with --events-per-second or --kbytes-per-second")
        return None if options.segments is None else ScalingPolicy.fixed(options.segments)
    least = options.segments or (before.min_segments if before else 1)
    make = ScalingPolicy.by_event_rate if options.events_per_second else ScalingPolicy.by_data_rate
    return make(next(filter(None, rates)), options.split_into or 2, least)


def retention_of(options: Options) -> RetentionPolicy | None:
    """The retention policy that the options name; None: they name none.

    Raises:
        ConfigurationError: they name several.
    """
    if sum((options.keep_bytes is not None, options.keep_time is not None, options.keep_all)) > 1:
        raise ConfigurationError("give one of --keep-bytes, --keep-time and --keep-all")
    if options.keep_bytes is not None:
        return RetentionPolicy.bytes(options.keep_bytes)
    if options.keep_time is not None:
        return RetentionPolicy.time(options.keep_time)
    return RetentionPolicy.none() if options.keep_all else None


def scaling_text(policy: ScalingPolicy) -> str:
    """A policy for people."""
    if policy.kind is ScalingType.FIXED:
        return f"{policy.min_segments} segments"
    unit = "events" if policy.kind is ScalingType.EVENT_RATE else "kB"
    split = f"into up to {policy.factor} parts"
    return f"at least {policy.min_segments} segments; one is split {split} beyond {policy.target_rate:,} {unit}/s"


def retention_text(policy: RetentionPolicy) -> str:
    """A policy for people."""
    if policy.kind is RetentionType.NONE:
        return "all events stay"

    def amount(value: int) -> str:
        return f"{value:,} bytes" if policy.kind is RetentionType.SIZE else str(timedelta() + value * MILLISECOND)

    most = "" if policy.maximum == NO_LIMIT else f", at most {amount(policy.maximum)}"
    return f"{amount(policy.minimum)} stay{most}"


def add_changes(topic: Topic) -> None:
    """Add the commands."""
    tags = (
        Option(["--add"], multiple=True, metavar="TAG", help="may be given several times"),
        Option(["--remove"], multiple=True, metavar="TAG", help="may be given several times"),
    )
    cut = Argument("cut", "CUT", "latest, or a cut: all events before it are removed", type=POSITION)
    segments = Option(["--segments"], type=_COUNT, required=True, metavar="N", help="how many segments it is to have")
    verb(topic, "update", STREAM, *POLICIES, YES)(_update)
    verb(topic, "tag", STREAM, *tags, YES)(_tag)
    verb(topic, "scale", STREAM, segments, YES)(_scale)
    verb(topic, "truncate", STREAM, cut, YES)(_truncate)
    verb(topic, "seal", STREAM, YES)(_seal)


async def _update(client: PravegaClient, options: Options) -> int:
    """Change the scaling or the retention of a stream; what is not named stays."""
    stream = stream_of(client, options)
    before = await client.controller.stream_configuration(stream)
    scaling, retention = scaling_of(options, before.scaling), retention_of(options)
    if scaling is None and retention is None:
        raise ConfigurationError("nothing is to be changed: give --segments, a rate, or one of the options --keep-…")
    after = replace(before, scaling=scaling or before.scaling, retention=retention or before.retention)
    changes = [
        f"{was} becomes: {becomes}"
        for was, becomes in (
            (scaling_text(before.scaling), scaling_text(after.scaling)),
            (retention_text(before.retention), retention_text(after.retention)),
        )
        if was != becomes
    ]
    if changes and not decided(options, f"{stream}: {'; '.join(changes)}."):
        return NO
    changed = await amend_stream(client.controller, stream, before, after)
    said = "; ".join(changes) if changed else "is so already"
    return show(options, {"stream": str(stream), "changed": changed}, f"{stream}: {said}")


async def _tag(client: PravegaClient, options: Options) -> int:
    """Add tags to a stream, or remove some."""
    stream = stream_of(client, options)
    before = await client.controller.stream_configuration(stream)
    if not options.add and not options.remove:
        raise ConfigurationError("no tag is named: give --add TAG or --remove TAG; `pravega streams show` lists them")
    if marks := reserved((*options.add, *options.remove)):
        raise ConfigurationError(f"{marks[0]!r} is the mark of a ledger: `pravega ledger adopt` changes it")
    if absent := sorted(set(options.remove) - set(before.tags)):
        raise ConfigurationError(f"{stream} has no tag {absent[0]!r}: its tags are {', '.join(before.tags) or 'none'}")
    after = replace(before, tags=tuple((set(before.tags) | set(options.add)) - set(options.remove)))
    tags = ", ".join(after.tags) or "none"
    if after != before and not decided(options, f"{stream} has the tags {', '.join(before.tags) or 'none'}: {tags}."):
        return NO
    changed = await amend_stream(client.controller, stream, before, after)
    return show(options, {"stream": str(stream), "tags": list(after.tags), "changed": changed}, f"{stream}: {tags}")


async def _scale(client: PravegaClient, options: Options) -> int:
    """Replace the segments of a stream by others of equal width."""
    stream = stream_of(client, options)
    before = len(await client.controller.current_segments(stream))
    if before and not decided(options, f"{stream} has {before} segments: they become {options.segments}."):
        return NO
    await client.scale_stream(stream, options.segments)
    values = {"stream": str(stream), "before": before, "segments": options.segments}
    return show(options, values, f"{stream} has {options.segments} segments now, after {before}")


async def _truncate(client: PravegaClient, options: Options) -> int:
    """Remove all events before a cut forever."""
    stream = stream_of(client, options)
    found = await find_cut(client, stream, options.cut)
    if found.stream != stream:
        raise ConfigurationError(f"the cut is of {found.stream or 'no stream'}: give one of {stream}, or latest")
    cut = await client.check_cut(found)
    size = await client.distance(await client.head(stream), cut)
    values = {"stream": str(stream), "head": cut.to_text(), "removed_bytes": size}
    if not size:
        return show(options, values, f"{stream}: nothing is before this cut", yes=False)
    if not decided(options, f"{stream} loses {size:,} bytes, all that is before {cut}."):
        return NO
    await client.truncate_stream(cut)
    return show(options, values, f"{stream}: {size:,} bytes are removed")


async def _seal(client: PravegaClient, options: Options) -> int:
    """End a stream: it can be read, but takes no more events, ever."""
    stream = stream_of(client, options)
    if await client.is_sealed(stream):
        return show(options, {"stream": str(stream), "sealed": True}, f"{stream} was sealed already", yes=False)
    if not decided(options, f"{stream} takes no more events, ever: a seal cannot be undone."):
        return NO
    await client.seal_stream(stream)
    return show(options, {"stream": str(stream), "sealed": True}, f"{stream} is sealed")

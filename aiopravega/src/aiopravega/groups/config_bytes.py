"""The configuration of a reader group inside its state, as bytes. Layout: `ReaderGroupConfig` in Pravega's client."""

from typing import Final

from aiopravega.control import GroupRetention, ReaderGroupConfig
from aiopravega.control.policies import MILLISECOND
from aiopravega.control.reader_groups import NO_ID, OUTSTANDING_CHECKPOINTS
from aiopravega.cuts import UNBOUNDED, StreamCut
from aiopravega.errors import ConfigurationError, ReaderGroupStateError
from aiopravega.groups import output
from aiopravega.groups.cut_bytes import cut_from_bytes, cut_to_bytes
from aiopravega.groups.fields import JavaFields
from aiopravega.names import StreamName

_NO_CHECKPOINTS: Final = -1
# Java's value for a group of a release before 0.9.
_NO_GENERATION: Final = -1


def read_config(data: bytes | memoryview) -> ReaderGroupConfig:
    """Read a configuration.

    Raises:
        ReaderGroupStateError: the bytes are not a configuration, or one of a newer Pravega.
    """
    _, (first, *more) = JavaFields(data).revisions("a reader group's configuration")
    interval, refresh, starts, ends = _cuts(first)
    outstanding, retention, generation, group_id = OUTSTANDING_CHECKPOINTS, GroupRetention.NONE, _NO_GENERATION, NO_ID
    if more:  # repeats the first one, and adds a number
        interval, refresh, starts, ends = _cuts(more[0])
        outstanding = more[0].int32()
    if len(more) > 1:
        kind = more[1].compact_int()
        if kind not in [each.value for each in GroupRetention]:
            raise ReaderGroupStateError(f"retention type {kind} of a reader group is not known")
        retention = GroupRetention(kind)
        generation, group_id = more[1].int64(), more[1].uuid()
    try:
        return ReaderGroupConfig(
            starts=starts,
            ends=ends,
            checkpoint_interval=interval * MILLISECOND if interval > 0 else None,
            refresh=refresh * MILLISECOND,
            outstanding_checkpoints=outstanding,
            retention=retention,
            group_id=group_id,
            generation=generation,
        )
    except (ConfigurationError, OverflowError) as error:
        raise ReaderGroupStateError(f"the configuration of a reader group cannot be: {error}") from error


def write_config(config: ReaderGroupConfig) -> bytes:
    """Write a configuration as Java reads it."""
    interval = config.checkpoint_interval
    ends = dict.fromkeys(config.starts, UNBOUNDED) | dict(config.ends)
    first = (
        output.int64(_NO_CHECKPOINTS if interval is None else interval // MILLISECOND)
        + output.int64(config.refresh // MILLISECOND)
        + output.mapping(config.starts, output.stream, _cut)
        + output.mapping(ends, output.stream, _cut)
    )
    third = output.compact_int(config.retention.value) + output.int64(config.generation) + config.group_id.bytes
    return output.record(first, first + output.int32(config.outstanding_checkpoints), third)


def _cuts(fields: JavaFields) -> tuple[int, int, dict[StreamName, StreamCut], dict[StreamName, StreamCut]]:
    interval, refresh = fields.int64(), fields.int64()
    starts = fields.mapping(JavaFields.stream, lambda each: cut_from_bytes(each.array()))
    ends = fields.mapping(JavaFields.stream, lambda each: cut_from_bytes(each.array()))
    return interval, refresh, starts, ends


def _cut(cut: StreamCut) -> bytes:
    return output.array(cut_to_bytes(cut))

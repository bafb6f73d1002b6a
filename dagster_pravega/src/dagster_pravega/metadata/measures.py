"""Metadata of materializations about ranges of a stream: cuts, size, events per second, and the data version.

Each number has the same name and type in all materializations of an asset, so that Dagster plots it by run and by
partition.
"""

import hashlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from dagster import (
    DataVersion,
    MetadataValue,
    TableColumn,
    TableMetadataValue,
    TableRecord,
    TableSchema,
)

from aiopravega import StreamCut, StreamCutRange
from aiopravega.cuts import SegmentRange
from aiopravega.intervals.reports.stream_state import Observation
from aiopravega.ledger import CutRecord
from dagster_pravega.metadata.spec import CUTS_KEY, STREAM_KEY, plain

EVENTS_KEY: Final = "pravega/events"
# The rows of an interval that a table holds.
HELD_ROWS_KEY: Final = "pravega/rows"
# The errors of a landing or a write, or of all of a table or a stream; the errors table or stream that has them; one.
ERRORS_KEY: Final = "pravega/errors"
ERRORS_TABLE_KEY: Final = "pravega/errors_table"
FIRST_ERROR_KEY: Final = "pravega/first_error"
ERRORS_SAMPLE_KEY: Final = "pravega/errors_sample"
SAMPLE_COLUMNS: Final = ("interval", "pointer", "reason")
BYTES_KEY: Final = "pravega/bytes"
RUN_EVENTS_KEY: Final = "pravega/events_of_run"
RUN_BYTES_KEY: Final = "pravega/bytes_of_run"
RATE_KEY: Final = "pravega/events_per_second"
TIMES_KEY: Final = "pravega/event_times"
MARKS_KEY: Final = "pravega/watermarks"
FROM_HEAD_KEY: Final = "pravega/from_head"
WHOLE_KEY: Final = "pravega/whole_stream"
PARTITION_KEY: Final = "pravega/interval"
CONSUMER_KEY: Final = "pravega/consumer"
CLAIM_KEY: Final = "pravega/claim"
RANGES_KEY: Final = "pravega/ranges"
# Differs from the metadata of writes: Dagster would plot both as one line.
READABLE_KEY: Final = "pravega/readable_bytes"
NEW_BYTES_KEY: Final = "pravega/new_bytes"
NEW_EVENTS_KEY: Final = "pravega/new_events"
SEALED_KEY: Final = "pravega/is_sealed"
# Of the last watermark of a stream.
UNTIL_KEY: Final = "pravega/complete_until"
NOTED_KEY: Final = "pravega/noted_until"
LAG_BYTES_KEY: Final = "pravega/lag_bytes"
LAG_SECONDS_KEY: Final = "pravega/lag_seconds"
LOSS_KEY: Final = "pravega/lost"
START_KEY: Final = "pravega/start"
END_KEY: Final = "pravega/end"
SEGMENTS_KEY: Final = "pravega/segment_ranges"
# Of the whole table, not of a write.
ROWS_KEY: Final = "dagster/row_count"
ROWS_OF_PARTITION_KEY: Final = "dagster/partition_row_count"
_UPDATED_KEY: Final = "dagster/last_updated_timestamp"
_NOT_KNOWN: Final = "not known"
# Dagster stores versions in an index, whose rows have at most 2,704 bytes in PostgreSQL, with the asset's key.
_LONGEST_VERSION: Final = 1024
# The most segments in a table of the metadata; a range may have thousands.
_MOST_ROWS: Final = 50

Times = tuple[datetime, datetime]


def measures(
    stream: str, events: int | None, size: int, seconds: float | None = None, *, several: bool = False
) -> dict[str, Any]:
    """Metadata of a read or a write; `size` is in bytes, with the headers of the events.

    Numbers that are not known are left out, but the number of events is then the text `not known`. Sums over `several`
    partitions have other names, so that they are not plotted as numbers of one partition.
    """
    events_key, bytes_key = (RUN_EVENTS_KEY, RUN_BYTES_KEY) if several else (EVENTS_KEY, BYTES_KEY)
    return {
        STREAM_KEY: stream,
        events_key: _NOT_KNOWN if events is None else events,
        bytes_key: size,
        **({} if seconds is None or events is None else {RATE_KEY: round(events / seconds, 1)}),
    }


def range_measures(ranges: Sequence[StreamCutRange], *, several: bool = False) -> dict[str, Any]:
    """Metadata of ranges: the cuts of one range, as one value and as texts to copy; a list for `several` partitions."""
    if several or len(ranges) != 1:
        return {RANGES_KEY: MetadataValue.json([cuts.to_json() for cuts in ranges])} if ranges else {}
    texts = ranges[0].to_json()
    return {
        CUTS_KEY: texts,
        START_KEY: MetadataValue.text(texts["start"]),
        END_KEY: MetadataValue.text(texts["end"]),
    }


def segments_table(parts: Sequence[SegmentRange]) -> dict[str, Any]:
    """Metadata of a range's segments, with offsets and bytes, as a table."""
    rows = [f"| {part.segment} | {part.start:,} | {part.end:,} | {part.size:,} |" for part in parts if part.size]
    if not rows:
        return {}
    more = [f"\n{len(rows) - _MOST_ROWS:,} more segments"] if len(rows) > _MOST_ROWS else []
    lines = ["| segment | from offset | to offset | bytes |", "|---|---:|---:|---:|", *rows[:_MOST_ROWS], *more]
    return {SEGMENTS_KEY: MetadataValue.md("\n".join(lines))}


def taken_measures(taken: CutRecord | None) -> dict[str, Any]:
    """Metadata of an interval of the cut ledger that was read: its consumer, its name, and its event times."""
    if taken is None:
        return {}
    metadata: dict[str, Any] = {CONSUMER_KEY: taken.consumer, PARTITION_KEY: taken.interval}
    times = times_of(taken)
    if times is not None:
        metadata[TIMES_KEY] = {"since": times[0].isoformat(), "until": times[1].isoformat()}
    return metadata


def observed_metadata(seen: Observation) -> dict[str, Any]:
    """Metadata of a stream that was observed; of its consumers, each has its lag under its own name."""
    stream = str(seen.head.stream)
    metadata: dict[str, Any] = {
        STREAM_KEY: stream,
        CUTS_KEY: StreamCutRange(seen.head, seen.state.tail).to_json(),
        READABLE_KEY: seen.readable,
        **updated_at(seen.state.written_at),
    }
    if seen.state.is_sealed:
        metadata[SEALED_KEY] = True
    if seen.new_bytes is not None:
        metadata[NEW_BYTES_KEY] = seen.new_bytes
    if seen.new_events is not None:
        whole = seen.new_events < seen.counted_to
        metadata[NEW_EVENTS_KEY] = seen.new_events if whole else f"at least {seen.new_events:,}"
    if seen.freshness is not None and seen.freshness.complete_until is not None:
        metadata[UNTIL_KEY] = seen.freshness.complete_until.isoformat()
    if seen.freshness is not None and seen.freshness.noted_until is not None:
        metadata[NOTED_KEY] = seen.freshness.noted_until.isoformat()
    for consumer, lag in seen.lags.items():
        metadata[f"{LAG_BYTES_KEY} {consumer}"] = lag.size
        if lag.time is not None:
            metadata[f"{LAG_SECONDS_KEY} {consumer}"] = round(lag.time.total_seconds(), 1)
        if lag.loss is not None:
            metadata[f"{LOSS_KEY} {consumer}"] = lag.loss
    return metadata


def updated_at(time: datetime) -> dict[str, Any]:
    """Metadata of the last change of the data, by which Dagster's checks of freshness judge."""
    return {_UPDATED_KEY: MetadataValue.timestamp(time)}


def update_of(metadata: Mapping[str, Any]) -> datetime | None:
    """The time that `updated_at` has put into metadata; None: they have none."""
    value = plain(metadata.get(_UPDATED_KEY))
    return None if value is None else datetime.fromtimestamp(float(value), UTC)


def times_of(taken: CutRecord | None) -> Times | None:
    """The event times of an interval; None if it is not an interval of time."""
    return None if taken is None or taken.since is None or taken.until is None else (taken.since, taken.until)


def data_version(cuts: StreamCutRange, times: Times | None = None) -> DataVersion:
    """The version of data that is a function of a range: the texts of its cuts, or their digest if they are long.

    With `times`, it is a function of the events of these times in the range.
    """
    return versions_of([(cuts, times)])


def versions_of(ranges: Sequence[tuple[StreamCutRange, Times | None]]) -> DataVersion:
    """The version of data that is a function of several ranges."""
    return _stored(", ".join(_version(cuts, times) for cuts, times in ranges))


def _version(cuts: StreamCutRange, times: Times | None) -> str:
    version = f"{cuts.start.to_text()}..{cuts.end.to_text()}"
    return version if times is None else f"{times[0].isoformat()}..{times[1].isoformat()} {version}"


def cut_version(cut: StreamCut) -> DataVersion:
    """The data version of a stream up to a cut."""
    return _stored(cut.to_text())


def _stored(version: str) -> DataVersion:
    if len(version) > _LONGEST_VERSION:
        version = f"sha256:{hashlib.sha256(version.encode()).hexdigest()}"
    return DataVersion(version)


def table_of(columns: tuple[str, ...], rows: list[dict[str, Any]]) -> TableMetadataValue:
    """A table for metadata. Its cells are texts, numbers or booleans; a value of None becomes an empty text."""
    records = [TableRecord({name: "" if row[name] is None else row[name] for name in columns}) for row in rows]
    return MetadataValue.table(records, TableSchema(columns=[TableColumn(name) for name in columns]))

"""What a materialization reports about a range of a stream: its cuts, its size, how fast it went, its data version."""

import hashlib
from datetime import datetime
from typing import Any, Final

from dagster import DataVersion

from aiopravega import StreamCut, StreamCutRange
from aiopravega.ledger import CutRecord
from dagster_pravega.spec import CUTS_KEY, STREAM_KEY

EVENTS_KEY: Final = "pravega/events"
BYTES_KEY: Final = "pravega/bytes"
RATE_KEY: Final = "pravega/events_per_second"
TIMES_KEY: Final = "pravega/event_times"
MARKS_KEY: Final = "pravega/watermarks"
FROM_HEAD_KEY: Final = "pravega/from_head"
WHOLE_KEY: Final = "pravega/whole_stream"
PARTITION_KEY: Final = "pravega/interval"
CONSUMER_KEY: Final = "pravega/consumer"
_NOT_KNOWN: Final = "not known"
# Dagster keeps versions in an index, whose rows have at most 2,704 bytes in PostgreSQL, the asset's key among them.
_LONGEST_VERSION: Final = 1024


def measures(
    stream: str, cuts: StreamCutRange | None, events: int | None, size: int, seconds: float | None = None
) -> dict[str, Any]:
    """Metadata of a range; `size` is in bytes, with the headers of the events. What is not known is left out.

    Not so the number of events: users look for it.
    """
    return {
        STREAM_KEY: stream,
        **({} if cuts is None else {CUTS_KEY: cuts.to_json()}),
        EVENTS_KEY: _NOT_KNOWN if events is None else events,
        BYTES_KEY: size,
        **({} if seconds is None or events is None else {RATE_KEY: round(events / seconds, 1)}),
    }


def taken_measures(taken: CutRecord | None) -> dict[str, Any]:
    """Metadata of an interval of the cut ledger that was read: whose it is, its name, and its event times."""
    if taken is None:
        return {}
    found: dict[str, Any] = {CONSUMER_KEY: taken.consumer, PARTITION_KEY: taken.interval}
    times = times_of(taken)
    if times is not None:
        found[TIMES_KEY] = {"since": times[0].isoformat(), "until": times[1].isoformat()}
    return found


def times_of(taken: CutRecord | None) -> tuple[datetime, datetime] | None:
    """The event times of an interval, if it is one of time."""
    return None if taken is None or taken.since is None or taken.until is None else (taken.since, taken.until)


def data_version(cuts: StreamCutRange, times: tuple[datetime, datetime] | None = None) -> DataVersion:
    """The version of data that is a function of a range: the texts of its cuts, or their digest if they are long.

    With `times`, it is a function of the events of these times in the range.
    """
    version = f"{cuts.start.to_text()}..{cuts.end.to_text()}"
    if times is not None:
        version = f"{times[0].isoformat()}..{times[1].isoformat()} {version}"
    return _stored(version)


def cut_version(cut: StreamCut) -> DataVersion:
    """The version of all that lies before a cut."""
    return _stored(cut.to_text())


def _stored(version: str) -> DataVersion:
    if len(version) > _LONGEST_VERSION:
        version = f"sha256:{hashlib.sha256(version.encode()).hexdigest()}"
    return DataVersion(version)

"""What a materialization reports about a range of a stream: its cuts, its size, how fast it went, its data version."""

import hashlib
from datetime import datetime
from typing import Any, Final

from dagster import DataVersion

from aiopravega import StreamCutRange
from dagster_pravega.spec import CUTS_KEY, STREAM_KEY

EVENTS_KEY: Final = "pravega/events"
BYTES_KEY: Final = "pravega/bytes"
RATE_KEY: Final = "pravega/events_per_second"
TIMES_KEY: Final = "pravega/event_times"
MARKS_KEY: Final = "pravega/watermarks"
WHOLE_KEY: Final = "pravega/whole_stream"
PARTITION_KEY: Final = "pravega/interval"
CONSUMER_KEY: Final = "pravega/consumer"
# Dagster keeps versions in an index, whose rows have at most 2,704 bytes in PostgreSQL, the asset's key among them.
_LONGEST_VERSION: Final = 1024


def measures(
    stream: str, cuts: StreamCutRange | None, events: int, size: int, seconds: float | None = None
) -> dict[str, Any]:
    """Metadata of a range; `size` is in bytes, with the headers of the events. What is not known is left out."""
    return {
        STREAM_KEY: stream,
        **({} if cuts is None else {CUTS_KEY: cuts.to_json()}),
        EVENTS_KEY: events,
        BYTES_KEY: size,
        **({} if seconds is None else {RATE_KEY: round(events / seconds, 1)}),
    }


def data_version(cuts: StreamCutRange, times: tuple[datetime, datetime] | None = None) -> DataVersion:
    """The version of data that is a function of a range: the texts of its cuts, or their digest if they are long.

    With `times`, it is a function of the events of these times in the range.
    """
    version = f"{cuts.start.to_text()}..{cuts.end.to_text()}"
    if times is not None:
        version = f"{times[0].isoformat()}..{times[1].isoformat()} {version}"
    if len(version) > _LONGEST_VERSION:
        version = f"sha256:{hashlib.sha256(version.encode()).hexdigest()}"
    return DataVersion(version)

"""Intervals of the cut ledger as they travel between tasks, plain JSON: who found one tells who finishes it."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from aiopravega import StreamCutRange, StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.errors import ConfigurationError
from aiopravega.ledger import CutRecord, Interval


def to_xcom(record: CutRecord) -> dict[str, str]:
    """A range, and which interval of whom it is; `since` and `until` are its event times, if it has any."""
    found = {**record.range.to_json(), "consumer": record.consumer, "interval": record.interval}
    if record.since is not None and record.until is not None:
        found |= {"since": record.since.isoformat(), "until": record.until.isoformat()}
    return found


def finish(
    client: PravegaClient, stream: StreamName, cuts: Mapping[str, Any], processed: StreamCutRange, by: str
) -> None:
    """Record that the interval has been processed that a range says it is of; one that says nothing is of none.

    Raises:
        LedgerError: the interval has got another range meanwhile.
    """
    if "consumer" in cuts and "interval" in cuts:
        interval = Interval(cuts["consumer"], stream, cuts["interval"])
        client.cut_ledger(stream.scope).finish(interval, processed, by=by)


def time_of(name: str, value: object) -> datetime:
    """A templated time.

    Raises:
        ConfigurationError: it is none, or has no zone.
    """
    try:
        time = value if isinstance(value, datetime) else datetime.fromisoformat(str(value).strip())
    except ValueError:
        raise ConfigurationError(
            f"{name} is {value!r}, but must be a time with its zone, such as 2013-01-01T00:00:00Z; a run without a "
            "logical date has no data interval"
        ) from None
    if time.utcoffset() is None:
        raise ConfigurationError(f"{name} is {time.isoformat()}, which has no zone: add it, such as Z for UTC")
    return time

"""Intervals of the cut ledger as plain JSON between tasks: from the task that takes one to the one that finishes it."""

from collections.abc import Mapping
from typing import Any

from aiopravega import StreamCutRange, StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.errors import ConfigurationError
from aiopravega.ledger import CutRecord, Interval


def to_xcom(record: CutRecord) -> dict[str, str]:
    """A range with its consumer and interval; `since` and `until` are its event times, if it has any."""
    values = {**record.range.to_json(), "consumer": record.consumer, "interval": record.interval}
    if record.since is not None and record.until is not None:
        values |= {"since": record.since.isoformat(), "until": record.until.isoformat()}
    return values


def range_of(given: object) -> StreamCutRange:
    """Read the range that a sensor, or another task, has given to an operator that does not know the times of events.

    Raises:
        ConfigurationError: the value is not a range, or the range is of event times: it has events of other times.
        InvalidStreamCutError: a text is not a cut.
    """
    if not isinstance(given, Mapping):
        raise ConfigurationError(f"stream_cuts is {given!r}, but must be a range with the texts start and end")
    if "since" in given or "until" in given:
        raise ConfigurationError(
            "stream_cuts is of event times, and its range also has events of other times: read it with "
            "PravegaSparkReadOperator, which knows the times of events"
        )
    return StreamCutRange.from_json(given)


def shown(cuts: StreamCutRange | None) -> str:
    """A range as text for a line of a log."""
    return "between cuts that are not known" if cuts is None else f"from {cuts.start} to {cuts.end}"


def finish(client: PravegaClient, stream: StreamName, cuts: Any, processed: StreamCutRange, by: str) -> None:
    """Record that the interval which a range names has been processed; do nothing if the range names none.

    Raises:
        LedgerError: the interval has another range by now.
    """
    if "consumer" in cuts and "interval" in cuts:
        interval = Interval(cuts["consumer"], stream, cuts["interval"])
        client.cut_ledger(stream.scope).finish(interval, processed, by=by)

"""Intervals of the cut ledger as they travel between tasks, plain JSON: who found one tells who finishes it."""

from collections.abc import Mapping
from typing import Any

from aiopravega import StreamCutRange, StreamName
from aiopravega.blocking import PravegaClient
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

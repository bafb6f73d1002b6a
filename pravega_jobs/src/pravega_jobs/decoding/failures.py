"""Events that cannot be decoded: a task treats them by the option `on_error`, for all formats."""

import logging
from collections.abc import Mapping, Sequence
from typing import Final, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from aiopravega.errors import MalformedEventError
from aiopravega.names import SegmentId
from aiopravega.schema.arrow.arrays import pick
from aiopravega.schema.arrow.envelope import encoding_ids
from pravega_jobs.decoding.options import OnError
from pravega_jobs.decoding.plan import Decoded
from pravega_jobs.error_rows import KEPT, errors_of

logger = logging.getLogger(__name__)
# Characters of a reason that are shown; a library's message can be as long as its input.
_SHOWN: Final = 500


class Failures:
    """Fails, keeps or drops events that cannot be decoded, and counts the dropped ones.

    Args:
        on_error: the rule.
        form: the format's name, for messages.
        has_headers: True if events have the registry's headers, by which an error has an encoding id.
    """

    def __init__(self, on_error: OnError, form: str, *, has_headers: bool = False) -> None:
        self._on_error = on_error
        self._form = form
        self._has_headers = has_headers
        self._dropped = 0

    def apply(
        self,
        columns: Sequence[pa.Array],
        taken: npt.NDArray[np.int64] | None,
        bad: Mapping[int, str],
        events: pa.BinaryArray,
        offsets: npt.NDArray[np.int64],
        segment: SegmentId,
    ) -> Decoded:
        """The rows of a batch.

        Args:
            columns: the columns of the events that could be decoded.
            taken: the event of each row; None stands for all events that are not bad.
            bad: the events that cannot be decoded, with the reason.
            events: all events.
            offsets: the offset of each event, in bytes.
            segment: the segment of the events.

        Raises:
            MalformedEventError: an event cannot be decoded, and `on_error` is `fail`.
        """
        kept = self._on_error.kept
        if not bad:
            rows = len(events) if taken is None else len(taken)
            return Decoded(list(columns), taken, None if kept is None else pa.nulls(rows, KEPT[kept]))
        first = min(bad)
        reason = self._reason(bad[first])
        if self._on_error is OnError.FAIL:
            at = int(offsets[first])
            raise MalformedEventError(
                f"{segment}: the event at offset {at} {reason}. Option on_error=null keeps such events in a column "
                "_corrupt_event, on_error=dead with the reason for an errors table, on_error=drop leaves them out",
                at=at,
            )
        if taken is None:
            good = np.ones(len(events), np.bool_)
            good[list(bad)] = False
            taken = np.flatnonzero(good)
        if kept is not None:
            rows_of_bad = np.array(sorted(bad), np.int64)
            if self._on_error is OnError.NULL:
                return _with_nulls(columns, taken, rows_of_bad, pick(events, rows_of_bad))
            ids = encoding_ids(events) if self._has_headers else None
            reasons = {row: self._reason(why) for row, why in bad.items()}
            return _with_nulls(columns, taken, rows_of_bad, errors_of(events, offsets, segment, reasons, ids))
        if not self._dropped:
            logger.warning("%s: dropped the event at offset %d, which %s", segment, offsets[first], reason)
        self._dropped += len(bad)
        return Decoded(list(columns), taken)

    def _reason(self, why: str) -> str:
        return f"cannot be decoded as {self._form}: {why[:_SHOWN]}"

    def add(self, other: Self) -> None:
        """Count what another one has counted of the same task."""
        self._dropped += other._dropped

    def finish(self, segment: SegmentId) -> None:
        """Log at the end of a task the number of dropped events."""
        if self._dropped:
            logger.warning("%s: dropped %d events that cannot be decoded as %s", segment, self._dropped, self._form)


def _with_nulls(
    columns: Sequence[pa.Array], taken: npt.NDArray[np.int64], bad: npt.NDArray[np.int64], kept: pa.Array
) -> Decoded:
    """The rows, and a row of nulls for each bad event with its value of `kept`, all in the order of the events."""
    both = np.concatenate([taken, bad])
    order = np.argsort(both, kind="stable")
    rows = np.where(order < len(taken), order, -1)
    values = pick(kept, np.where(order < len(taken), -1, order - len(taken)))
    return Decoded([pick(column, rows) for column in columns], both[order], values)

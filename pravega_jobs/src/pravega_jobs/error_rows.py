"""Events that cannot be decoded, as values of a column: `_error` of the option `on_error=dead`.

A read fills the column, and null means that the event was decoded. A landing takes the rows apart: rows with an error
go to an errors table, the others to their table. This module knows neither formats nor tables.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from aiopravega.errors import LandingError, TooManyErrorsError
from aiopravega.names import SegmentId
from aiopravega.schema.arrow.arrays import borders_of, numbers, positions, strings
from aiopravega.wire import EVENT_HEADER
from pravega_jobs.spark.options import CORRUPT, ERROR

# The event as it was read; its routing key, if somebody knows it (Pravega does not keep it); its pointer, as
# `client.fetch` takes it; the reason; the encoding id of its header.
ERROR_TYPE: Final = pa.struct(
    [
        ("event", pa.binary()),
        ("routing_key", pa.string()),
        ("pointer", pa.string()),
        ("reason", pa.string()),
        ("schema_id", pa.int32()),
    ]
)
# The columns of an errors table, beside those that every landed row gets: the error, and the landing that found it.
TABLE_COLUMNS: Final = pa.schema(
    [
        *ERROR_TYPE,
        ("stream", pa.string()),
        ("interval_name", pa.string()),
        ("generation", pa.int64()),
        ("target", pa.string()),
        ("failed_at", pa.timestamp("us", "UTC")),
    ]
)
# Bytes of the errors of one landing, which one process has in memory.
LARGEST_ERRORS: Final = 256 * 1024 * 1024
# The columns of events that cannot be decoded, and their types.
KEPT: Final[Mapping[str, pa.DataType]] = {CORRUPT: pa.binary(), ERROR: ERROR_TYPE}


def errors_of(
    events: pa.BinaryArray,
    offsets: npt.NDArray[np.int64],
    segment: SegmentId,
    reasons: Mapping[int, str],
    schema_ids: npt.NDArray[np.int64] | None,
) -> pa.StructArray:
    """The errors of the events that have a reason, in the order of the events.

    Args:
        events: all events.
        offsets: the offset of each event, in bytes.
        segment: the segment of the events.
        reasons: the reason for each event that cannot be decoded, by its number.
        schema_ids: the encoding id of each event, below 0 for an event without a header; None: no event has a header.
    """
    at = np.array(sorted(reasons), np.int64)
    bad = events.take(positions(at))
    lengths = np.diff(borders_of(bad)) + EVENT_HEADER
    both = zip(offsets[at].tolist(), lengths.tolist(), strict=True)
    pointers = [f"{segment}:{offset}-{length}" for offset, length in both]
    ids = pa.nulls(len(at), pa.int32())
    if schema_ids is not None:
        found = schema_ids[at]
        ids = numbers(found.astype(np.int32), pa.int32(), found >= 0)
    columns = [
        bad,
        pa.nulls(len(at), pa.string()),
        strings(pointers),
        strings([reasons[row].replace("\0", "\\0") for row in at.tolist()]),  # PostgreSQL refuses the character,
        ids,
    ]
    return pa.StructArray.from_arrays(columns, fields=list(ERROR_TYPE))


class Sieve:
    """Takes rows with an error out of batches, and keeps the errors in memory: they are few.

    Args:
        largest: the most bytes of errors.
    """

    def __init__(self, largest: int = LARGEST_ERRORS) -> None:
        self._largest = largest
        self._found: list[pa.Array] = []
        self._bytes = 0
        self._count = 0
        self._most: int | None = None
        self._limit, self._of = "", ""

    def hold_to(self, most: int | None, limit: object, of: object) -> None:
        """Take no more errors than these, so that rows that must fail are not read further.

        Args:
            most: the most errors; None: any number.
            limit: the limit, as it was given.
            of: the landing or the write, for the message.
        """
        self._most, self._limit, self._of = most, str(limit), str(of)

    def takes(self, more: int) -> bool:
        """True if so many errors more are not too many."""
        return self._most is None or self._count + more <= self._most

    @staticmethod
    def columns(schema: pa.Schema) -> pa.Schema:
        """The columns of rows without that of errors."""
        return schema.remove(schema.get_field_index(ERROR))

    def sift(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows without an error, without that column.

        Raises:
            LandingError: there are too many bytes of errors.
        """
        for batch in batches:
            errors, rows = batch.column(ERROR), batch.select([name for name in batch.schema.names if name != ERROR])
            if errors.null_count == len(errors):
                yield rows
                continue
            self.add(errors.filter(errors.is_valid()))
            yield rows.filter(errors.is_null())

    def add(self, errors: pa.Array) -> None:
        """Keep some errors.

        Raises:
            LandingError: there are too many bytes of errors.
            TooManyErrorsError: there are more than `hold_to` allows.
        """
        self._keep(errors)
        if not self.takes(0):
            raise too_many(self._of, f"{self._count} of the rows so far", self._limit, self._found[0][0].as_py())

    def _keep(self, errors: pa.Array) -> None:
        self._found.append(errors.cast(ERROR_TYPE))
        self._bytes += errors.nbytes
        self._count += len(errors)
        if self._bytes > self._largest:
            raise LandingError(
                f"the errors of this landing have more than {self._largest:,} bytes, which a landing has in memory as "
                f"a whole. The first: {errors[0]['reason']}. Mend the options of decoding, or land smaller ranges. "
                "Nothing was changed"
            )

    def packed(self) -> pa.BinaryArray | None:
        """All errors so far as one value of bytes, for another process; None: there are none."""
        if not self._found:
            return None
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, pa.schema([(ERROR, ERROR_TYPE)])) as writer:
            writer.write_batch(pa.RecordBatch.from_arrays([self.errors()], [ERROR]))
        return pa.array([sink.getvalue().to_pybytes()], pa.binary())

    def unpack(self, errors: bytes | None) -> None:
        """Keep the errors of another process, as `packed` gave them, or none. They are held to no limit: it is done.

        Raises:
            LandingError: there are too many bytes of errors.
        """
        if errors is not None:
            for batch in pa.ipc.open_stream(errors):
                self._keep(batch.column(0))

    def errors(self) -> pa.StructArray:
        """All errors so far."""
        return pa.concat_arrays(self._found) if self._found else pa.array([], ERROR_TYPE)


def too_many(of: object, found: str, limit: object, first: Mapping[str, Any]) -> TooManyErrorsError:
    """The error of a landing or a write whose rows have more errors than it may have.

    Args:
        of: the landing or the write.
        found: the number of the errors, and of what.
        limit: the limit, as it was given.
        first: the first error.
    """
    return TooManyErrorsError(
        f"{of}: {found} are errors, and most_errors is {limit}. The first, at {first['pointer']}: {first['reason']}. "
        "Mend the options of decoding, or allow more. Nothing was changed"
    )

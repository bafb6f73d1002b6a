"""Events that cannot be decoded, as values of a column: `_error` of the option `on_error=dead`.

A read fills the column, and null means that the event was decoded. A landing takes the rows apart: rows with an error
go to an errors table, the others to their table. This module knows neither formats nor tables.
"""

from collections.abc import Mapping
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from aiopravega.names import SegmentId
from aiopravega.schema.arrow.arrays import borders_of, numbers, positions, strings
from aiopravega.wire import EVENT_HEADER
from pravega_jobs.spark.options import CORRUPT, ERROR

# The event as it was read; its routing key, if somebody knows it (Pravega does not keep it); its place in the stream, as
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
    places = zip(offsets[at].tolist(), lengths.tolist(), strict=True)
    pointers = [f"{segment}:{offset}-{length}" for offset, length in places]
    ids = pa.nulls(len(at), pa.int32())
    if schema_ids is not None:
        found = schema_ids[at]
        ids = numbers(found.astype(np.int32), pa.int32(), found >= 0)
    columns = [
        bad,
        pa.nulls(len(at), pa.string()),
        strings(pointers),
        strings([reasons[row] for row in at.tolist()]),
        ids,
    ]
    return pa.StructArray.from_arrays(columns, fields=list(ERROR_TYPE))

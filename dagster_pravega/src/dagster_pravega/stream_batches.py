"""Ranges of a stream as record batches that know what they are: for assets that report what they have read."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dagster_pravega.range_read import RangeRead

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class StreamBatches(RangeRead):
    """The value of an input of `PravegaArrowIOManager` with this type: record batches with their ranges and numbers.

    `reader` can be read once, a few megabytes at a time, so that a range may be larger than memory.
    """

    reader: "pa.RecordBatchReader"

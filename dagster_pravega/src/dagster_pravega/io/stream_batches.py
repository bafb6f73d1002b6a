"""Ranges of a stream as record batches that know what they are: for assets that report what they have read."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dagster_pravega.io.range_read import RangeRead

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class StreamBatches(RangeRead):
    """What an input of `PravegaArrowIOManager` gets whose type is this class, instead of batches alone.

    `reader` is read once, a few megabytes at a time, so that a range may be larger than memory.
    """

    reader: "pa.RecordBatchReader"

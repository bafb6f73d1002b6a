"""Rows with an error, in a write: tasks take them out, and the driver puts them into their stream before it decides."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from aiopravega.blocking import PravegaClient
from aiopravega.names import StreamName
from pravega_jobs.error_rows import Sieve
from pyspark_pravega.write.error_options import ErrorOptions
from pyspark_pravega.write.partition import PartitionResult

if TYPE_CHECKING:
    from pravega_jobs.landing.write_errors import ErrorsOfWrite


class RowErrors:
    """Takes rows with an error out of the batches of a task."""

    def __init__(self, options: ErrorOptions) -> None:
        self._sieve = None if options.sink is None else Sieve()

    def over(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows without an error, without that column.

        Raises:
            LandingError: there are too many bytes of errors.
        """
        return iter(batches) if self._sieve is None else self._sieve.sift(batches)

    def beside(self, partitions: Sequence[PartitionResult]) -> Sequence[PartitionResult]:
        """The results of the task with its errors, for the driver."""
        packed = None if self._sieve is None else self._sieve.packed()
        if packed is None:
            return partitions
        first, *others = partitions
        return [replace(first, errors=packed[0].as_py()), *others]


def errors_of(
    client: PravegaClient,
    options: ErrorOptions,
    write: tuple[StreamName, str, int],
    partitions: Sequence[PartitionResult] = (),
) -> "ErrorsOfWrite | None":
    """The errors of the tasks of a write; None: errors are not kept.

    Args:
        client: a connected client.
        options: of the errors.
        write: the stream of the rows, the write id, and the generation.
        partitions: the results of the tasks.

    Raises:
        LandingError: there are too many bytes of errors.
    """
    if options.sink is None:
        return None
    from pravega_jobs.landing.write_errors import errors_of_write

    found = errors_of_write(client, *write, options.sink, options.most, options.consumer, options.interval)
    if found is not None:
        for partition in partitions:
            found.sieve.unpack(partition.errors)
    return found

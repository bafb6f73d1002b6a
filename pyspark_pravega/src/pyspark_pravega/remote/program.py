"""Work that a scheduler has handed over to a Spark program: its ranges as DataFrames, its write, and what it counts.

Which range it is and under which name it writes, the side of the scheduler has decided; here nothing is recorded but
the write itself.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from aiopravega.blocking import PravegaClient
from aiopravega.config import PravegaConfig
from aiopravega.errors import ConfigurationError
from aiopravega.ledger import CommitRecord
from pravega_jobs.remote.orders import InputOrder, WorkOrder
from pravega_jobs.spark.frames import as_events, save_events
from pravega_jobs.spark.options import LEDGER_OPTION
from pravega_jobs.spark.pieces import SumOfCounts, load_pieces_counted
from pravega_jobs.spark.progress import SparkProgress
from pravega_jobs.writes import finished_write, write_unless_done

if TYPE_CHECKING:
    import logging

    from pyspark.sql import DataFrame, SparkSession


class HandedWork(ABC):
    """What a program reads, writes and reports; a scheduler's own way in makes it."""

    way_to_read: ClassVar[str]
    way_to_write: ClassVar[str]

    def __init__(self, handover: WorkOrder, config: PravegaConfig, log: "logging.Logger") -> None:
        self.config = config
        self.log = log
        self.progress = SparkProgress(log)
        self._handover = handover
        self._counts: dict[str, SumOfCounts] = {}
        self._written: dict[str, Any] | None = None

    @property
    def inputs(self) -> Mapping[str, InputOrder]:
        """The ranges that were handed over, by the names of the inputs: for readers that are not Spark."""
        return self._handover.inputs

    def read(self, spark: "SparkSession", name: str | None = None) -> "DataFrame":
        """The ranges of an input.

        The events are counted by the first action that reads the frame to its end. Spark's progress is reported from
        now on.

        Args:
            spark: the session, on this machine, on a cluster or by Spark Connect.
            name: of the input; None: the only one.

        Raises:
            ConfigurationError: there is no such input, or several and no name.
            PravegaError: the stream or the range cannot be read.
        """
        if name is None and len(self.inputs) == 1:
            [name] = self.inputs
        if name is None or name not in self.inputs:
            raise ConfigurationError(
                f"the inputs of this work are {sorted(self.inputs)}, but {name!r} is read. {self.way_to_read}"
            )
        found = self.inputs[name]
        self.progress.watch(spark)
        for piece in found.pieces:
            self.log.info(
                "Reading %d bytes of %s: %s to %s", piece.size, found.stream, piece.cuts.start, piece.cuts.end
            )
        frame, self._counts[name] = load_pieces_counted(spark, self.config, found.stream, found.pieces, found.options)
        return frame

    def write(self, frame: "DataFrame") -> CommitRecord:
        """Write the rows to the stream of the work, exactly once: `event` and `routing_key`, or rows as JSON objects.

        If an earlier try of the same run has written them, nothing is written; if another run has, the rows are
        compared.

        Returns:
            What the stream holds of the write: cuts, events, bytes.

        Raises:
            ConfigurationError: no write was handed over.
            WriteIdReusedError: it is done already with other rows.
            PravegaError: the stream cannot be written to.
        """
        output = self._handover.output
        if output is None:
            raise ConfigurationError(f"no write was handed over: {self.way_to_write}")
        self.progress.watch(frame.sparkSession)
        ledger = output.options.get(LEDGER_OPTION)
        with PravegaClient(self.config) as client:
            find = partial(
                finished_write, client.asynchronous, output.stream, output.write_id, ledger, output.generation
            )
            done = write_unless_done(
                output.stream,
                output.write_id,
                lambda: client.run(find()),
                lambda: save_events(
                    as_events(frame, output.options),
                    self.config,
                    output.stream,
                    output.write_id,
                    output.options,
                    output.generation,
                ),
                retried=output.retried,
            )
        self._written = {"by_this_try": done.by_this_try, "seconds": done.seconds}
        said = "Written" if done.by_this_try else "Written already by an earlier try:"
        self.log.info("%s %d events to %s: %s", said, done.record.total_events, output.stream, done.record.name)
        return done.record

    @abstractmethod
    def report(self, values: Mapping[str, Any]) -> None:
        """Report values of the program's own, which JSON can spell; events, bytes and cuts are reported without it."""

    def done(self) -> dict[str, Any]:
        """What was read and written, for the side of the scheduler."""
        inputs = {name: {"events": count.events()} for name, count in self._counts.items()}
        return {"inputs": inputs, "output": self._written}

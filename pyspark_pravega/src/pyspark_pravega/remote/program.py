"""A Spark program that has got its work from a scheduler: its ranges as DataFrames, its write, and its counts.

The scheduler's side has decided about the ranges and the name of the write. This side records only the write itself.
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
from pravega_jobs.spark.frames import as_events, events_writer
from pravega_jobs.spark.options import LEDGER_OPTION
from pravega_jobs.spark.pieces import SumOfCounts, load_pieces_counted
from pravega_jobs.spark.progress import SparkProgress
from pravega_jobs.writes import finished_write, write_unless_done

if TYPE_CHECKING:
    import logging

    from pyspark.sql import DataFrame, SparkSession


class RemoteProgram(ABC):
    """The reads, the write and the reports of a program; each scheduler has a function that opens it."""

    way_to_read: ClassVar[str]
    way_to_write: ClassVar[str]

    def __init__(self, order: WorkOrder, config: PravegaConfig, log: "logging.Logger") -> None:
        self.config = config
        self.log = log
        self.progress = SparkProgress(log)
        self._order = order
        self._counts: dict[str, SumOfCounts] = {}
        self._written: dict[str, Any] | None = None

    @property
    def inputs(self) -> Mapping[str, InputOrder]:
        """The program's ranges, by the names of the inputs: for readers other than Spark."""
        return self._order.inputs

    def read(self, spark: "SparkSession", name: str | None = None) -> "DataFrame":
        """Read the ranges of an input.

        The first action that reads the frame to its end counts the events. Spark's progress is reported from now on.

        Args:
            spark: the session, on this machine, on a cluster or by Spark Connect.
            name: name of the input; None: the only one.

        Raises:
            ConfigurationError: there is no such input, or there are several and no name is given.
            PravegaError: the stream or the range cannot be read.
        """
        if name is None and len(self.inputs) == 1:
            [name] = self.inputs
        if name is None or name not in self.inputs:
            raise ConfigurationError(
                f"the inputs of this work are {sorted(self.inputs)}, but {name!r} is read. {self.way_to_read}"
            )
        chosen = self.inputs[name]
        self.progress.watch(spark)
        for piece in chosen.pieces:
            self.log.info(
                "Reading %d bytes of %s: %s to %s", piece.size, chosen.stream, piece.cuts.start, piece.cuts.end
            )
        frame, self._counts[name] = load_pieces_counted(
            spark, self.config, chosen.stream, chosen.pieces, chosen.options
        )
        return frame

    def write(self, frame: "DataFrame") -> CommitRecord:
        """Write the rows to the stream of the work, exactly once: `event` and `routing_key`, or rows as JSON objects.

        If an earlier try of the same run has written them, nothing is written; if another run has, the rows are
        compared.

        Returns:
            The record of the write: cuts, events, bytes.

        Raises:
            ConfigurationError: the program has got no write.
            WriteIdReusedError: the write is done already with other rows.
            PravegaError: the stream cannot be written to.
        """
        output = self._order.output
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
                lambda: events_writer(
                    as_events(frame, output.options),
                    self.config,
                    output.stream,
                    output.write_id,
                    output.options,
                    output.generation,
                    output.claimant,
                ).save(),
                claimant=output.claimant,
            )
        self._written = {"by_this_try": done.by_this_try, "seconds": done.seconds}
        verb = "Written" if done.by_this_try else "Written already by an earlier try:"
        self.log.info("%s %d events to %s: %s", verb, done.record.total_events, output.stream, done.record.name)
        return done.record

    @abstractmethod
    def report(self, values: Mapping[str, Any]) -> None:
        """Report further values, which must be plain JSON; events, bytes and cuts are reported without this call."""

    def done(self) -> dict[str, Any]:
        """The counts of the reads and the result of the write, for the scheduler's side."""
        inputs = {name: {"events": count.events()} for name, count in self._counts.items()}
        return {"inputs": inputs, "output": self._written}

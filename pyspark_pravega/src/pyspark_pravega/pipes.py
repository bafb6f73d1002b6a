"""A Spark job that Dagster has started by a Pipes client: it reads and writes what was handed over to it.

It needs `dagster-pipes`, which is one module, and neither Dagster nor `dagster-pravega`. Which range it is and under
which name it writes, the side of Dagster has decided; here nothing is recorded but the write itself.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from aiopravega.blocking import PravegaClient
from aiopravega.config import PravegaConfig
from aiopravega.errors import ConfigurationError
from aiopravega.jobs.event_frames import as_events
from aiopravega.jobs.handover import HandedInput, Handover
from aiopravega.jobs.spark_frames import save_events
from aiopravega.jobs.spark_options import LEDGER_OPTION
from aiopravega.jobs.spark_pieces import SumOfCounts, load_pieces_counted
from aiopravega.jobs.spark_progress import SparkProgress
from aiopravega.jobs.writes import finished_write, write_once
from aiopravega.ledger import CommitRecord

if TYPE_CHECKING:
    import logging

    from dagster_pipes import PipesContext
    from pyspark.sql import DataFrame, SparkSession

_KEY: Final = "pravega"
_WAY: Final = (
    "call hand_over of dagster_pravega in the asset, and give its extras to the Pipes client: "
    "client.run(context=context, extras=work.extras, env=work.secrets, …)"
)


class PravegaPipes:
    """What a Pipes process reads, writes and reports. `open_pravega_pipes` makes it."""

    def __init__(
        self, context: "PipesContext", handover: Handover, config: PravegaConfig, progress: SparkProgress
    ) -> None:
        self.context = context
        self.config = config
        self._handover = handover
        self._progress = progress
        self._counts: dict[str, SumOfCounts] = {}
        self._written: dict[str, Any] | None = None

    @property
    def log(self) -> "logging.Logger":
        """A logger whose lines are in the log of Dagster's run."""
        return self.context.log

    @property
    def inputs(self) -> Mapping[str, HandedInput]:
        """The ranges that were handed over, by the names of the asset's inputs: for readers that are not Spark."""
        return self._handover.inputs

    def read(self, spark: "SparkSession", name: str | None = None) -> "DataFrame":
        """The ranges of an input, as the IO manager for Spark gives them to an asset.

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
            raise ConfigurationError(f"the inputs of this work are {sorted(self.inputs)}, but {name!r} is read. {_WAY}")
        found = self.inputs[name]
        self._progress.watch(spark)
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
            raise ConfigurationError(f"no write was handed over: {_WAY.replace('hand_over', 'hand_over(…, writes=…)')}")
        self._progress.watch(frame.sparkSession)
        ledger = output.options.get(LEDGER_OPTION)
        with PravegaClient(self.config) as client:
            find = partial(
                finished_write, client.asynchronous, output.stream, output.write_id, ledger, output.generation
            )
            done = write_once(
                output.stream,
                output.write_id,
                lambda: client.run(find()),
                lambda: save_events(
                    as_events(frame), self.config, output.stream, output.write_id, output.options, output.generation
                ),
                retried=output.retried,
            )
        self._written = {"by_this_try": done.by_this_try, "seconds": done.seconds}
        said = "Written" if done.by_this_try else "Written already by an earlier try:"
        self.log.info("%s %d events to %s: %s", said, done.record.total_events, output.stream, done.record.name)
        return done.record

    def report_materialization(
        self, metadata: Mapping[str, Any] | None = None, data_version: str | None = None
    ) -> None:
        """Add metadata to the materialization, and a data version, if it is not the cuts.

        Events, bytes, cuts and what was written are reported without it.
        """
        self.context.report_asset_materialization(metadata=metadata, data_version=data_version)

    def report(self) -> None:
        """Report what was read and written; called at the end of the block, if no error ends it."""
        inputs = {name: {"events": count.events()} for name, count in self._counts.items()}
        self.context.report_custom_message({_KEY: {"inputs": inputs, "output": self._written}})


@contextmanager
def open_pravega_pipes(*, connection: Mapping[str, Any] | None = None, **loaders: Any) -> Iterator[PravegaPipes]:
    """Open the work that `hand_over` of `dagster_pravega` has handed over to this process.

    Args:
        connection: fields of `PravegaConfig` that differ where the process runs, such as `ca_file` or
            `controller_uri`. Passwords and tokens come from the environment (`PRAVEGA_PASSWORD`, `PRAVEGA_TOKEN`).
        loaders: arguments of `open_dagster_pipes`: `context_loader`, `message_writer`, `params_loader`.

    Raises:
        ConfigurationError: `dagster-pipes` is not installed, no Pipes client has started this process, nothing was
            handed over, or a secret is not in the environment.
    """
    if find_spec("dagster_pipes") is None:
        raise ConfigurationError("the job needs dagster-pipes where it runs: pip install 'pyspark-pravega[pipes]'")
    from dagster_pipes import PipesEnvVarParamsLoader, open_dagster_pipes

    if not (loaders.get("params_loader") or PipesEnvVarParamsLoader()).is_dagster_pipes_process():
        raise ConfigurationError(f"no Pipes client of Dagster has started this process: {_WAY}")
    with open_dagster_pipes(**loaders) as context:
        if _KEY not in context.extras:
            raise ConfigurationError(f"nothing of Pravega was handed over to this process: {_WAY}")
        handover = Handover.from_json(context.extras[_KEY])
        progress = SparkProgress(context.log)
        pipes = PravegaPipes(context, handover, handover.config(**(connection or {})), progress)
        try:
            yield pipes
            pipes.report()
        finally:
            progress.end()

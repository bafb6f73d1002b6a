"""The base class of the IO managers: ranges of inputs, names and generations of writes, metadata of both."""

from abc import abstractmethod
from collections.abc import Mapping
from functools import partial
from typing import Any

from dagster import (
    ConfigurableIOManager,
    InitResourceContext,
    InputContext,
    OutputContext,
    ResourceDependency,
)
from pydantic import Field

from aiopravega import StreamName
from aiopravega.errors import PravegaError
from aiopravega.ledger import Sink
from dagster_pravega.io.input_finder import find_input
from dagster_pravega.io.remote_range import handed_range, is_handed
from dagster_pravega.io.write_measures import WrittenOutput, measures_of_inputs
from dagster_pravega.metadata.failures import failing_for_good
from dagster_pravega.metadata.measures import data_version
from dagster_pravega.metadata.preview import preview
from dagster_pravega.metadata.ranges import RangeConfig
from dagster_pravega.metadata.rebuild_and_claim import generation_of
from dagster_pravega.metadata.secured import STRICT
from dagster_pravega.metadata.spec import options_of, stream_of
from dagster_pravega.metadata.steps import part_name, step_of
from dagster_pravega.metadata.written import WriteConfig, claimant_of, write_name
from dagster_pravega.partitions.claimants import succeeded_steps
from dagster_pravega.partitions.input_range import InputRange
from dagster_pravega.resources.resource import PravegaResource
from pravega_jobs.spark.options import ERRORS_OPTION, ERRORS_OPTIONS, LEDGER_OPTION
from pravega_jobs.writes import Written, finished_write, write_unless_done

_Step = tuple[str, str]  # the ids of a run and of its step
# Ranges that the inputs of steps read, until the steps have ended; another IO manager may write the outputs.
_ranges_read: "dict[_Step, dict[str, tuple[StreamIOManager, InputRange]]]" = {}


class StreamIOManager(ConfigurableIOManager):
    """Ranges of streams as inputs, exactly-once writes as outputs; engines derive from it."""

    model_config = STRICT

    pravega: ResourceDependency[PravegaResource]
    options: dict[str, str] = Field(
        default={},
        description="more options of the data source, such as default_num_segments or commit_ledger",
        repr=False,  # secrets may be among them
    )
    preview_events: int = Field(
        default=0,
        description="number of written events that a materialization shows, 0: none. Everybody who can see the asset "
        "sees them",
    )

    def teardown_after_execution(self, context: InitResourceContext) -> None:
        """Record what the steps of this process have read as done, if they have succeeded; called by Dagster.

        A step may write elsewhere, or nothing, so only its success tells. If the ledger cannot be asked now, the next
        run asks Dagster for the step.
        """
        read, instance = self._pop_inputs(None if context.run is None else context.run.run_id), context.instance
        succeeded = succeeded_steps(instance, list({run_id for (run_id, _), _ in read})) if read and instance else set()
        was_closed = self.pravega.is_closed
        try:
            for (_, step_key), ranges in read:
                if step_key in succeeded:
                    ranges.finish()
        except PravegaError as error:
            if context.log is not None:
                context.log.warning("What the run has read is not recorded as done, the next run does: %s", error)
        finally:
            if was_closed:
                self.pravega.close()

    @classmethod
    def input_config_schema(cls) -> type[RangeConfig]:
        """The type of an input's run config."""
        return RangeConfig

    @classmethod
    def output_config_schema(cls) -> type[WriteConfig]:
        """The type of an output's run config."""
        return WriteConfig

    @abstractmethod
    def load_range(self, context: InputContext, ranges: InputRange) -> Any:
        """The ranges in the type of the input."""

    @abstractmethod
    def check_output(self, obj: Any) -> None:
        """Refuse values that are not tables of the engine, before anything is asked or started.

        Raises:
            ConfigurationError: the value is of another type; the message names it, and those that are taken.
        """

    @abstractmethod
    def save(self, context: OutputContext, obj: Any, stream: StreamName, write_id: str, generation: int) -> None:
        """Write an output exactly once; if it is written already, compare the rows."""

    def schema_metadata(self, obj: Any) -> dict[str, Any]:
        """Metadata of the columns of an output."""
        del obj
        return {}

    def load_input(self, context: InputContext) -> Any:
        """Find the range of the upstream stream that the input reads, and load it.

        Raises:
            Failure: the stream, the range or an option is not valid.
            PravegaError: the cluster cannot be reached.
        """
        with failing_for_good():
            ranges = find_input(context, self.pravega, self.options)
            if step_of(context) is not None:
                # A retry of the step replaces it.
                _ranges_read.setdefault(_step_of(context), {})[context.name] = self, ranges
            if is_handed(context):
                return handed_range(context, ranges)
            return self.load_range(context, ranges)

    def handle_output(self, context: OutputContext, obj: Any) -> None:
        """Write to the stream of the asset; if the write is done already, compare the rows.

        A retry of the step in the same run does not compare.

        Raises:
            Failure: the stream, a column or an option is not valid, the write is done with other rows, or the run's
                generation is not the next one.
            PravegaError: the cluster cannot be reached.
        """
        with failing_for_good():
            self.check_output(obj)
            write_id = write_name(context)
            configured = WriteConfig(**(context.config or {})).rebuild
            generation = generation_of(configured, context.step_context.dagster_run)
            stream = self.pravega.stream_name(stream_of(context.asset_key, context.definition_metadata))
            schema = self.schema_metadata(obj)
            inputs, part = _inputs(context), part_name(context.step_context, context.name)
            ledger = self.options.get(LEDGER_OPTION)
            sink = Sink(kind="write", target=str(stream), id=write_id, generation=generation, ledger=ledger)
            for ranges in inputs.values():
                ranges.declare(part, sink)
            done = self._write(context, obj, stream, write_id, generation)
            client = self.pravega.client
            written = WrittenOutput.find(client, stream, done)
            metadata = written.metadata(client, generation, of_partition=context.has_asset_partitions)
            if written.cuts is not None:
                metadata |= preview(client, written.cuts, stream, self.preview_events)
            for ranges in inputs.values():
                ranges.finish(part)
        context.add_output_metadata({**metadata, **measures_of_inputs(inputs), **schema})
        if written.cuts is not None:
            context.step_context.set_data_version(context.asset_key, data_version(written.cuts))

    def error_options(self, context: OutputContext) -> dict[str, str]:
        """The options of the errors of an output, with the consumer and the interval of its only input."""
        given = {**self.options, **options_of(context.definition_metadata)}
        found = {name.lower(): str(value) for name, value in given.items() if name.lower() in ERRORS_OPTIONS}
        records = [ranges.record for ranges in _inputs(context).values()]
        if ERRORS_OPTION not in found or len(records) != 1 or records[0] is None:
            return found
        return {"consumer": records[0].consumer, "interval": records[0].interval} | found

    def _pop_inputs(self, run_id: str | None) -> list[tuple[_Step, InputRange]]:
        """Take what this manager has loaded for the steps of a run that is over in this process."""
        found = []
        for step in [step for step in _ranges_read if step[0] == run_id]:
            inputs = _ranges_read[step]
            found += [(step, ranges) for manager, ranges in inputs.values() if manager is self]
            _ranges_read[step] = {name: each for name, each in inputs.items() if each[0] is not self}
            if not _ranges_read[step]:
                del _ranges_read[step]
        return found

    def _write(self, context: OutputContext, obj: Any, stream: StreamName, write_id: str, generation: int) -> Written:
        client = self.pravega.client
        find = partial(
            finished_write, client.asynchronous, stream, write_id, self.options.get(LEDGER_OPTION), generation
        )
        done = write_unless_done(
            stream,
            write_id,
            lambda: client.run(find()),
            lambda: self.save(context, obj, stream, write_id, generation),
            claimant=claimant_of(context.run_id, context.step_key),
        )
        if not done.by_this_try:
            context.log.warning("%s is done already: nothing is written again", done.record.name)
        return done


def inputs_of_step(run_id: str, step_key: str) -> Mapping[str, tuple[StreamIOManager, InputRange]]:
    """The inputs that a step of this process has loaded, by their names: the IO manager and the ranges of each."""
    return _ranges_read.get((run_id, step_key), {})


def _inputs(context: OutputContext) -> dict[str, InputRange]:
    """The ranges of a step's inputs, by their names."""
    return {name: ranges for name, (_, ranges) in inputs_of_step(*_step_of(context)).items()}


def _step_of(context: InputContext | OutputContext) -> _Step:
    return context.step_context.run_id, context.step_context.step.key

"""What the IO managers share: which range an input reads, the name and generation of a write, what is reported."""

from abc import abstractmethod
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
from dagster_pravega.io.input_finder import find_input
from dagster_pravega.io.remote_range import handed_range, is_handed
from dagster_pravega.io.step_inputs import forget_run, note_input, take_inputs
from dagster_pravega.io.write_measures import WrittenOutput, measures_of_inputs
from dagster_pravega.metadata.failures import failing_for_good
from dagster_pravega.metadata.measures import data_version
from dagster_pravega.metadata.preview import preview
from dagster_pravega.metadata.ranges import RangeConfig
from dagster_pravega.metadata.rebuild_and_claim import generation_of
from dagster_pravega.metadata.spec import stream_of
from dagster_pravega.metadata.written import WriteConfig, write_name
from dagster_pravega.partitions.input_range import InputRange
from dagster_pravega.resources.resource import PravegaResource
from pravega_jobs.spark.options import LEDGER_OPTION
from pravega_jobs.writes import Written, finished_write, write_once


class StreamIOManager(ConfigurableIOManager):
    """Ranges of streams as inputs, exactly-once writes as outputs; engines derive from it."""

    pravega: ResourceDependency[PravegaResource]
    options: dict[str, str] = Field(
        default={}, description="more options of the data source, such as default_num_segments or commit_ledger"
    )
    preview_events: int = Field(
        default=0,
        description="how many of the events that were written a materialization shows, 0: none. All who see the asset "
        "see them",
    )

    def teardown_after_execution(self, context: InitResourceContext) -> None:
        """The end of the run, or of its step in this process; called by Dagster."""
        forget_run(context.run_id)

    @classmethod
    def input_config_schema(cls) -> type[RangeConfig]:
        """What the run config of an input can say."""
        return RangeConfig

    @classmethod
    def output_config_schema(cls) -> type[WriteConfig]:
        """What the run config of an output can say."""
        return WriteConfig

    @abstractmethod
    def load_range(self, context: InputContext, found: InputRange) -> Any:
        """What the asset gets."""

    @abstractmethod
    def save(self, context: OutputContext, obj: Any, stream: StreamName, write_id: str, generation: int) -> None:
        """Write an output exactly once, or compare it with what is written already."""

    def schema_metadata(self, obj: Any) -> dict[str, Any]:
        """Metadata of the columns of an output."""
        del obj
        return {}

    def load_input(self, context: InputContext) -> Any:
        """The range of the upstream stream that the input asks for.

        Raises:
            Failure: the stream, the range or an option cannot work.
            PravegaError: the cluster cannot be reached.
        """
        with failing_for_good():
            found = find_input(context, self.pravega, self.options)
            note_input(context, found)
            if is_handed(context):
                return handed_range(context, found)
            return self.load_range(context, found)

    def handle_output(self, context: OutputContext, obj: Any) -> None:
        """Write to the stream of the asset; if that is done already, compare the rows.

        A retry of the step in the same run does not compare.

        Raises:
            Failure: the stream, a column or an option cannot work, the write is done with other rows, or the generation
                that the run names cannot follow.
            PravegaError: the cluster cannot be reached.
        """
        with failing_for_good():
            write_id = write_name(context)
            configured = WriteConfig(**(context.config or {})).rebuild
            generation = generation_of(configured, context.step_context.dagster_run)
            stream = self.pravega.stream_name(stream_of(context.asset_key, context.definition_metadata))
            schema = self.schema_metadata(obj)
            done = self._write(context, obj, stream, write_id, generation)
            client = self.pravega.client
            written = WrittenOutput.find(client, stream, done)
            found = written.metadata(client, generation, of_partition=context.has_asset_partitions)
            if written.cuts is not None:
                found |= preview(client, written.cuts, stream, self.preview_events)
        inputs = take_inputs(context)
        for read in inputs.values():
            read.finish()
        context.add_output_metadata({**found, **measures_of_inputs(inputs), **schema})
        if written.cuts is not None:
            context.step_context.set_data_version(context.asset_key, data_version(written.cuts))

    def _write(self, context: OutputContext, obj: Any, stream: StreamName, write_id: str, generation: int) -> Written:
        client = self.pravega.client
        find = partial(
            finished_write, client.asynchronous, stream, write_id, self.options.get(LEDGER_OPTION), generation
        )
        done = write_once(
            stream,
            write_id,
            lambda: client.run(find()),
            lambda: self.save(context, obj, stream, write_id, generation),
            retried=context.step_context.previous_attempt_count > 0,
        )
        if not done.by_this_try:
            context.log.warning("%s is done already: nothing is written again", done.record.name)
        return done

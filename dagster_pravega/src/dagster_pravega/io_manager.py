"""Assets from and to streams, as Spark DataFrames: exact ranges when they are read, exactly once when written."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from dagster import ConfigurableIOManager, InitResourceContext, InputContext, OutputContext, ResourceDependency
from pydantic import Field, PrivateAttr

from aiopravega import StreamCutRange, StreamName
from aiopravega.errors import ConfigurationError
from aiopravega.jobs.spark_frames import load_counted, load_range, save_events
from aiopravega.jobs.spark_options import LEDGER_OPTION, TIME_OPTION
from aiopravega.jobs.spark_session import LOCAL
from aiopravega.jobs.writes import finished_write, parse_generation, write_once
from aiopravega.ledger import CutRecord
from dagster_pravega.claims import keyed_partition
from dagster_pravega.cut_partitions import cut_partitions_of
from dagster_pravega.event_frames import as_events
from dagster_pravega.measures import data_version, measures, taken_measures
from dagster_pravega.ranges import RangeConfig, configured_range, range_of_metadata, written_range
from dagster_pravega.resource import PravegaResource
from dagster_pravega.sessions import release, spark_session, use
from dagster_pravega.since_last import range_since_last
from dagster_pravega.spec import stream_of
from dagster_pravega.step_failures import failing_for_good
from dagster_pravega.stream_read import StreamRead
from dagster_pravega.unsplit import split_options
from dagster_pravega.windows import Window, read_options, wanted_window
from dagster_pravega.written import GENERATION_KEY, WRITE_ID_KEY, WriteConfig, write_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class PravegaSparkIOManager(ConfigurableIOManager):
    """Reads ranges of streams as Spark DataFrames, and writes DataFrames to streams exactly once.

    An asset stands for the stream in its metadata `pravega/stream` (`scope/stream`), or else for the one that its key
    names: scope and stream.

    **Inputs.** The columns are `event`, `scope`, `stream`, `segment_id` and `offset`, unless the metadata
    `pravega/options` of the stream or the `AssetIn` say how events are decoded. The range is the first of these that
    there is: the run config of the input (`RangeConfig`), the metadata `pravega/cuts` of the `AssetIn` or of the
    upstream asset, the event times of the run's partition, if these options name the column `event_time`, what the
    upstream asset's latest materialization has written, the whole stream as it is now, which the metadata say. A
    partition that is neither one of event times nor one of the upstream asset keeps the range that a run config named
    first, in the cut ledger; without one it is refused. A partition of `StreamCutPartitions` is its recorded range
    before all others; a run config may only repeat it. The run config needs
    `AssetIn(input_manager_key=…)`. Everything is checked before Spark is started. An input whose type is `StreamRead`
    also gets the cuts, and the numbers for its metadata.

    **Since the last run.** An input of an asset without partitions whose metadata say `pravega/since: last` reads what
    was written since the range of the last run; with `latest`, the first run starts at the tail. A run that is tried or
    executed again reads the same range; the next run reads what a failed one was to read, too.

    **Event times.** The range of a partition is kept in the cut ledger under the asset's name, and only events of its
    times come. It is done when the asset is written by this IO manager, or when the asset says `StreamRead.done`.

    **Outputs.** A DataFrame with the columns `event` (string or binary) and, if wanted, `routing_key` (string); without
    a column `event`, each row becomes a JSON object of all columns but `routing_key`. It is written in transactions
    under the name of the partition, or of the run: retries and re-executions add nothing to the first success. A
    partition is written once, because a stream cannot be overwritten; to write it again after the code was mended, name
    the next generation in the run config of the output (`rebuild: 2`). The materialization has the cuts between which
    the events are, their number, bytes, events per second, the write id and the generation; its data version is the
    cuts. If others write to the stream at the same time, their events may lie between the cuts too.

    Errors that no retry can help fail the step at once, whatever its retry policy.
    """

    pravega: ResourceDependency[PravegaResource]
    master: str = Field(
        default=LOCAL,
        description="Spark's master, in `spark_session()` too, if the process has no session yet",
    )
    spark_conf: dict[str, str] = Field(
        default={}, description="settings of a new Spark session; not for credentials, which its pages would show"
    )
    options: dict[str, str] = Field(
        default={}, description="more options of the data source, such as default_num_segments or commit_ledger"
    )

    # Of each step that runs: the intervals that it took, and what records that they have been processed.
    _taken: dict[tuple[str, str], list[tuple[CutRecord, Callable[[], None]]]] = PrivateAttr(default_factory=dict)

    @classmethod
    def input_config_schema(cls) -> type[RangeConfig]:
        """What the run config of an input can say."""
        return RangeConfig

    @classmethod
    def output_config_schema(cls) -> type[WriteConfig]:
        """What the run config of an output can say."""
        return WriteConfig

    def setup_for_execution(self, context: InitResourceContext) -> None:
        """Let assets that call `spark_session` before they have an input have this manager's settings."""
        del context
        use(self.master, self.spark_conf)

    def teardown_after_execution(self, context: InitResourceContext) -> None:
        """The end of the run, or of its step in this process."""
        del context
        release(self.master, self.spark_conf)

    def load_input(self, context: InputContext) -> "DataFrame | StreamRead":
        """The range of the upstream stream that the input asks for.

        Raises:
            Failure: the stream, the range or an option cannot work.
            PravegaError: the cluster cannot be reached.
        """
        taken, finish, marks, from_head = None, None, {}, None
        with failing_for_good():
            stream = self._upstream(context)
            given = read_options(context)
            options = {**self.options, **given, **split_options(context)}
            configured = configured_range(context)
            by_ledger = cut_partitions_of(context, stream) is not None
            wanted = configured if configured or by_ledger else range_of_metadata(context)
            # What this manager's own options say about event times is for the streams that it writes.
            of_times = wanted is None and TIME_OPTION in given
            window = wanted_window(context, stream, options) if of_times else None
            if window is not None:
                taken = window.claim(self.pravega.client, _by(context))
                options |= window.options
                marks, from_head = self._marks(taken.range, window), self._from_head(context, window)
            elif wanted is configured:
                taken = self._of_key(context, stream, configured, TIME_OPTION in given)
            if taken is not None:
                finish = self._finish_later(context, taken)
                wanted = RangeConfig(**taken.range.to_json())
            elif wanted is None:
                wanted = written_range(context)
            whole = wanted == RangeConfig()
            found = self.pravega.fix_range(str(stream), wanted.start, wanted.end)
            cuts = found.cuts
            what = "all of the stream" if whole else "as it was asked for"
            context.log.info("Reading %d bytes of %s, %s: %s to %s", found.size, stream, what, cuts.start, cuts.end)
            spark, config = spark_session(self.master, self.spark_conf), self.pravega.get_config()
            if context.dagster_type.typing_type is not StreamRead:
                return load_range(spark, config, stream, cuts, options)
            frame, count = load_counted(spark, config, stream, cuts, options, found.size)
        return StreamRead(frame, stream, cuts, count, taken, marks, finish, whole, from_head)

    def _of_key(
        self, context: InputContext, stream: StreamName, configured: RangeConfig | None, has_times: bool
    ) -> CutRecord | None:
        """The range of a partition that is not one of event times, or of the run; None: the input has none."""
        taken = None if configured else range_since_last(context, stream, self.pravega, _by(context))
        partition = None if taken else keyed_partition(context, stream, configured, has_times=has_times)
        if partition is None:
            return taken
        client = self.pravega.client
        if configured is None:
            return partition.recorded(client)
        resolved = self.pravega.fix_range(str(stream), configured.start, configured.end)
        return partition.claim(client, configured, resolved.cuts, _by(context))

    def _finish_later(self, context: InputContext, taken: CutRecord) -> Callable[[], None]:
        """What records that a partition has been processed: the asset says it, or a write of this manager."""
        context.log.info("%s is taken", taken.identity)
        # Not the client of now: it may be another one by then.
        finish = partial(_finish, self.pravega, taken, _by(context))
        self._taken.setdefault(_step_of(context), []).append((taken, finish))
        return finish

    def _marks(self, cuts: StreamCutRange, window: Window) -> dict[str, str | None]:
        """What the watermarks say about a range."""
        bounds = self.pravega.client.time_bounds(cuts)
        found = {"lower": bounds.lower, "upper": bounds.upper}
        return {name: None if time is None else window.unit.moment(time).isoformat() for name, time in found.items()}

    def _from_head(self, context: InputContext, window: Window) -> str | None:
        """Why the range of a window starts at the head, if it begins before the first watermark."""
        first = window.first_mark_after_start(self.pravega.client)
        if first is None:
            return None
        reason = f"it begins before the first watermark of {window.stream}, at {first.isoformat()}: read from the head"
        context.log.info("Partition %s: %s", window.since.isoformat(), reason)
        return reason

    def _upstream(self, context: InputContext) -> StreamName:
        if not context.has_asset_key:
            raise ConfigurationError(f"input {context.name!r} is not an asset, and only assets stand for streams")
        upstream = context.upstream_output
        return self.pravega.stream_name(stream_of(context.asset_key, upstream.definition_metadata if upstream else {}))

    def handle_output(self, context: OutputContext, obj: "DataFrame") -> None:
        """Write a DataFrame to the stream of its asset; if that is done already, compare the rows.

        A retry of the step in the same run does not compare.

        Raises:
            Failure: the stream, a column or an option cannot work, the write is done with other rows, or the generation
                that the run names cannot follow.
            PravegaError: the cluster cannot be reached.
        """
        with failing_for_good():
            write_id, generation = write_name(context), parse_generation(_said(context).rebuild)
            stream = self.pravega.stream_name(stream_of(context.asset_key, context.definition_metadata))
            config, client = self.pravega.get_config(), self.pravega.client
            ledger = self.options.get(LEDGER_OPTION)
            find = partial(finished_write, client.asynchronous, stream, write_id, ledger, generation)
            done = write_once(
                stream,
                write_id,
                lambda: client.run(find()),
                lambda: save_events(as_events(obj), config, stream, write_id, self.options, generation),
                retried=context.step_context.previous_attempt_count > 0,
            )
            if not done.by_this_try:
                context.log.warning("%s is done already: nothing is written again", done.record.name)
            cuts = done.record.cuts and client.resolve(done.record.cuts, stream)
        if cuts is not None:
            context.step_context.set_data_version(context.asset_key, data_version(cuts))
        inputs = self._taken.pop(_step_of(context), [])
        for _, finish in inputs:
            finish()
        seconds = done.seconds if done.by_this_try else None
        numbers = measures(str(stream), cuts, done.record.total_events, done.record.total_bytes, seconds)
        # Of several inputs, none is that of the output.
        read = taken_measures(inputs[0][0]) if len(inputs) == 1 else {}
        context.add_output_metadata({**numbers, **read, WRITE_ID_KEY: write_id, GENERATION_KEY: generation})


def _said(context: OutputContext) -> WriteConfig:
    return WriteConfig(**(context.config or {}))


def _step_of(context: InputContext | OutputContext) -> tuple[str, str]:
    return context.step_context.run_id, context.step_context.step.key


def _by(context: InputContext) -> str:
    return f"dagster run {context.step_context.run_id}"


def _finish(pravega: PravegaResource, taken: CutRecord, by: str) -> None:
    pravega.client.cut_ledger(taken.stream.scope).finish(taken.identity, taken.range, by=by)

"""The IO manager for Spark DataFrames: it reads exact ranges of streams, and writes exactly once."""

from typing import TYPE_CHECKING, Any

from dagster import InitResourceContext, InputContext, OutputContext
from pydantic import Field

from aiopravega import StreamName
from dagster_pravega.io.range_read import StreamRead
from dagster_pravega.io.stream_io import StreamIOManager
from dagster_pravega.metadata.columns import spark_schema, wanted_columns
from dagster_pravega.metadata.spec import options_of
from dagster_pravega.metadata.steps import input_type
from dagster_pravega.metadata.written import claimant_of, wrong_output
from dagster_pravega.partitions.input_range import InputRange
from dagster_pravega.resources.sessions import release, spark_session, use
from pravega_jobs.spark.frames import ENCODE_OPTION, as_events, events_writer
from pravega_jobs.spark.options import check_columns
from pravega_jobs.spark.pieces import load_pieces, load_pieces_counted
from pravega_jobs.spark.session import LOCAL

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class PravegaSparkIOManager(StreamIOManager):
    """Reads ranges of streams as Spark DataFrames, and writes DataFrames to streams exactly once.

    An asset represents the stream in its metadata `pravega/stream` (`scope/stream`). Without this metadata it
    represents the stream that its key names: scope and stream.

    **Inputs.** The columns are `event`, `scope`, `stream`, `segment_id` and `offset`, unless the metadata
    `pravega/options` of the stream or the `AssetIn` decode the events. Then their option `columns` names the
    columns of JSON events, as SQL writes them (`id int, price double`), and `pravega/columns` of the `AssetIn`
    names others. The range is the first that exists of: the run config of the input (`RangeConfig`); the metadata
    `pravega/cuts` of the `AssetIn` or of the upstream asset; the event times of the run's partition, if these
    options name the column `event_time`; the range that this run, or the run that it repeats, has written of the
    upstream asset; the range of its latest materialization; the whole stream as it is now, which the metadata
    report. A partition without event times that the upstream asset does not have keeps the range that a run config
    named first, in the cut ledger; without such a range it is refused. A partition of `StreamCutPartitions` always
    reads its recorded range; a run config may only repeat it. The run config needs `AssetIn(input_manager_key=…)`.
    Everything is checked before Spark is started. An input of the type `StreamRead` also gets the cuts, and the
    numbers for its metadata.

    **Since the last run.** An input with the metadata `pravega/since: last`, of an asset without partitions, reads
    the events since the range of the last run; with `latest`, the first run starts at the tail. So do ops of jobs
    and of graphs of assets; the stream is that of `asset_key` of the `In`, or of its metadata `pravega/stream`. A
    run that is retried or executed again reads the same range; the next run also reads the range of a failed run.

    **Event times.** The range of a partition is kept in the cut ledger under the asset's name, and only events of
    its times are read. It is done when this IO manager has written the asset, or when the asset calls
    `StreamRead.done`.

    **Outputs.** A DataFrame with the columns `event` (string or binary) and, if wanted, `routing_key` (string);
    without a column `event`, each row becomes a JSON object of all columns but `routing_key`, with times in UTC. A
    frame without rows is a write of nothing, which is done as any other. With the option `encode`, of the manager
    or in the metadata `pravega/options` of the asset, Spark's data source makes the events of all columns by a
    schema of the registry. Rows are written in transactions, under the name of the partition or of the run: retries
    and re-executions add nothing to the first success. A partition is written once, because a stream cannot be
    overwritten; to write it again after a change of the code, name the next generation in the run config of the
    output (`rebuild: 2`). The materialization has the cuts before and after the events, their number, bytes, events
    per second, the write id and the generation; its data version is the cuts. If others write to the stream at the
    same time, their events may also be between the cuts: an input of the asset then refuses the range.

    Errors that no retry can help fail the step at once, whatever its retry policy.
    """

    master: str = Field(
        default=LOCAL,
        description="Spark's master, in `spark_session()` too, if the process has no session yet",
        repr=False,  # that of Spark Connect may have a token
    )
    spark_conf: dict[str, str] = Field(
        default={},
        description="settings of a new Spark session; not for credentials, which its pages would show",
        repr=False,
    )

    def setup_for_execution(self, context: InitResourceContext) -> None:
        """Give this manager's settings to assets that call `spark_session` before they have an input."""
        del context
        use(self.master, self.spark_conf)

    def teardown_after_execution(self, context: InitResourceContext) -> None:
        """Forget the inputs and the settings at the end of the run, or of its step in this process."""
        super().teardown_after_execution(context)
        release(self.master, self.spark_conf)

    def load_range(self, context: InputContext, ranges: InputRange) -> "DataFrame | StreamRead":
        """The ranges as one DataFrame, or as a `StreamRead` if that is the type of the input."""
        check_columns(ranges.options)
        spark, config = spark_session(self.master, self.spark_conf), self.pravega.get_config()
        if input_type(context) is not StreamRead:
            return _selected(context, load_pieces(spark, config, ranges.stream, ranges.pieces, ranges.options))
        frame, count = load_pieces_counted(spark, config, ranges.stream, ranges.pieces, ranges.options)
        return StreamRead(ranges, count, _selected(context, frame))

    def check_output(self, obj: Any) -> None:
        """Refuse all but DataFrames of Spark and Spark Connect, without an import of Spark."""
        kinds = [(kind.__module__.partition(".")[0], kind.__name__) for kind in type(obj).__mro__]
        if ("pyspark", "DataFrame") in kinds:
            return
        raise wrong_output(
            obj,
            "a pyspark.sql.DataFrame for PravegaSparkIOManager: spark_session().createDataFrame(…) makes one of rows; "
            "tables of Arrow, pandas and Polars are for PravegaArrowIOManager",
        )

    def save(
        self, context: OutputContext, obj: "DataFrame", stream: StreamName, write_id: str, generation: int
    ) -> None:
        """Write a DataFrame by Spark, in transactions."""
        given = options_of(context.definition_metadata)
        # Without `encode`, the metadata are options for reading the stream.
        options = {**self.options, **(given if ENCODE_OPTION in given else {}), **self.error_options(context)}
        claimant = claimant_of(context.run_id, context.step_key)
        events, config = as_events(obj, options), self.pravega.get_config()
        events_writer(events, config, stream, write_id, options, generation, claimant).save()

    def schema_metadata(self, obj: "DataFrame") -> dict[str, Any]:
        """The columns of the DataFrame."""
        return spark_schema(obj)


def _selected(context: InputContext, frame: "DataFrame") -> "DataFrame":
    """The frame with the columns that the input selects."""
    columns = wanted_columns(context, frame.columns)
    return frame if columns is None else frame.select(*(f"`{name}`" for name in columns))

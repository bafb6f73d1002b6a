"""Assets from and to streams, as Spark DataFrames: exact ranges when they are read, exactly once when written."""

from typing import TYPE_CHECKING, Any

from dagster import InitResourceContext, InputContext, OutputContext
from pydantic import Field

from aiopravega import StreamName
from dagster_pravega.io.stream_io import StreamIOManager
from dagster_pravega.io.stream_read import StreamRead
from dagster_pravega.metadata.columns import decoded_columns, spark_schema, wanted_columns
from dagster_pravega.metadata.spec import options_of
from dagster_pravega.partitions.input_range import InputRange
from dagster_pravega.resources.sessions import release, spark_session, use
from pravega_jobs.spark.event_frames import ENCODE_OPTION, as_events
from pravega_jobs.spark.frames import save_events
from pravega_jobs.spark.pieces import load_pieces, load_pieces_counted
from pravega_jobs.spark.session import LOCAL

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class PravegaSparkIOManager(StreamIOManager):
    """Reads ranges of streams as Spark DataFrames, and writes DataFrames to streams exactly once.

    An asset stands for the stream in its metadata `pravega/stream` (`scope/stream`), or else for the one that its key
    names: scope and stream.

    **Inputs.** The columns are `event`, `scope`, `stream`, `segment_id` and `offset`, unless the metadata
    `pravega/options` of the stream or the `AssetIn` say how events are decoded; `pravega/columns` of the `AssetIn` has
    their columns then, as SQL writes them (`id int, price double`). The range is the first of these that there is: the
    run config of the input (`RangeConfig`), the metadata `pravega/cuts` of the `AssetIn` or of the upstream asset, the
    event times of the run's partition, if these options name the column `event_time`, what the upstream asset's latest
    materialization has written, the whole stream as it is now, which the metadata say. A partition that is neither one
    of event times nor one of the upstream asset keeps the range that a run config named first, in the cut ledger;
    without one it is refused. A partition of `StreamCutPartitions` is its recorded range before all others; a run
    config may only repeat it. The run config needs `AssetIn(input_manager_key=…)`. Everything is checked before Spark
    is started. An input whose type is `StreamRead` also gets the cuts, and the numbers for its metadata.

    **Since the last run.** An input of an asset without partitions whose metadata say `pravega/since: last` reads what
    was written since the range of the last run; with `latest`, the first run starts at the tail. A run that is tried or
    executed again reads the same range; the next run reads what a failed one was to read, too.

    **Event times.** The range of a partition is kept in the cut ledger under the asset's name, and only events of its
    times come. It is done when the asset is written by this IO manager, or when the asset says `StreamRead.done`.

    **Outputs.** A DataFrame with the columns `event` (string or binary) and, if wanted, `routing_key` (string); without
    a column `event`, each row becomes a JSON object of all columns but `routing_key`. With the option `encode`, of the
    manager or in the metadata `pravega/options` of the asset, Spark's data source makes the events of all columns by a
    schema of the registry. It is written in transactions
    under the name of the partition, or of the run: retries and re-executions add nothing to the first success. A
    partition is written once, because a stream cannot be overwritten; to write it again after the code was mended, name
    the next generation in the run config of the output (`rebuild: 2`). The materialization has the cuts between which
    the events are, their number, bytes, events per second, the write id and the generation; its data version is the
    cuts. If others write to the stream at the same time, their events may lie between the cuts too.

    Errors that no retry can help fail the step at once, whatever its retry policy.
    """

    master: str = Field(
        default=LOCAL,
        description="Spark's master, in `spark_session()` too, if the process has no session yet",
    )
    spark_conf: dict[str, str] = Field(
        default={}, description="settings of a new Spark session; not for credentials, which its pages would show"
    )

    def setup_for_execution(self, context: InitResourceContext) -> None:
        """Let assets that call `spark_session` before they have an input have this manager's settings."""
        del context
        use(self.master, self.spark_conf)

    def teardown_after_execution(self, context: InitResourceContext) -> None:
        """The end of the run, or of its step in this process."""
        super().teardown_after_execution(context)
        release(self.master, self.spark_conf)

    def load_range(self, context: InputContext, found: InputRange) -> "DataFrame | StreamRead":
        """The ranges as one DataFrame, or as a `StreamRead` if that is the type of the input."""
        spark, config = spark_session(self.master, self.spark_conf), self.pravega.get_config()
        columns = decoded_columns(context)
        if context.dagster_type.typing_type is not StreamRead:
            return _selected(context, load_pieces(spark, config, found.stream, found.pieces, found.options, columns))
        frame, count = load_pieces_counted(spark, config, found.stream, found.pieces, found.options, columns)
        return StreamRead(found, count, _selected(context, frame))

    def save(
        self, context: OutputContext, obj: "DataFrame", stream: StreamName, write_id: str, generation: int
    ) -> None:
        """Write a DataFrame by Spark, in transactions."""
        given = options_of(context.definition_metadata)
        # Without it, they say how the stream is read.
        options = {**self.options, **(given if ENCODE_OPTION in given else {})}
        save_events(as_events(obj, options), self.pravega.get_config(), stream, write_id, options, generation)

    def schema_metadata(self, obj: "DataFrame") -> dict[str, Any]:
        """The columns of the DataFrame."""
        return spark_schema(obj)


def _selected(context: InputContext, frame: "DataFrame") -> "DataFrame":
    """The columns that the input asks for."""
    columns = wanted_columns(context, frame.columns)
    return frame if columns is None else frame.select(*(f"`{name}`" for name in columns))

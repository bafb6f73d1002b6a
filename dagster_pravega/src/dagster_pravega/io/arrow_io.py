"""Assets from and to streams without Spark: as tables of Arrow, pandas, Polars and DuckDB, or as record batches."""

from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from dagster import InputContext, OutputContext
from pydantic import Field

from aiopravega import StreamName
from aiopravega.errors import ConfigurationError
from dagster_pravega.io.range_read import RangeRead
from dagster_pravega.io.stream_io import StreamIOManager
from dagster_pravega.metadata.columns import arrow_schema, wanted_columns
from dagster_pravega.metadata.spec import options_of
from dagster_pravega.metadata.steps import input_name, input_type
from dagster_pravega.metadata.written import claimant_of, wrong_output
from dagster_pravega.partitions.input_range import InputRange
from dagster_pravega.resources.schema_registry import SchemaRegistryResource
from pravega_jobs.spark.options import ERRORS_OPTIONS, LEDGER_OPTION, READ_BEFORE

if TYPE_CHECKING:
    import pyarrow as pa

    from aiopravega.blocking.registry import SchemaRegistry

_LARGEST_TABLE: Final = 1_000_000_000
_TYPES: Final = (
    "StreamBatches, pyarrow.RecordBatchReader, pyarrow.Table, pandas.DataFrame, polars.DataFrame, polars.LazyFrame or "
    "duckdb.DuckDBPyRelation"
)


@dataclass(frozen=True)
class StreamBatches(RangeRead):
    """The value of an input of `PravegaArrowIOManager` with this type: record batches with their ranges and numbers.

    `reader` can be read once, a few megabytes at a time, so that a range may be larger than memory.
    """

    reader: "pa.RecordBatchReader"


class PravegaArrowIOManager(StreamIOManager):
    """Reads ranges of streams as tables or record batches, and writes them to streams exactly once, without Spark.

    It finds the stream of an asset, the range of an input, and the name and the generation of a write as
    `PravegaSparkIOManager` does, and its materializations report the same. It needs the extra `arrow` of
    dagster-pravega; pandas, Polars and DuckDB are used if they are installed.

    **Inputs.** The type of the input decides what the asset gets. `StreamBatches` and `pyarrow.RecordBatchReader`
    read a few megabytes at a time; `polars.LazyFrame` and `duckdb.DuckDBPyRelation` do so each time that they are
    computed, in the step. `pyarrow.Table` (also without a type), `pandas.DataFrame` (with Arrow's types)
    and `polars.DataFrame` are in memory as a whole: a range of more than `largest_table` bytes is refused. With
    `schema_registry`, the columns are the fields of the newest schema of the stream's group. Without it, or without
    a group, they are `event`, `scope`, `stream`, `segment_id` and `offset`. The metadata `columns` of the `AssetIn`
    name the columns to read. The metadata `pravega/options` may have the options by which Spark's source makes columns
    of events: `decode`, `columns` (of JSON events, as SQL writes them; `pravega/columns` of the `AssetIn` names
    others), `on_error`, the options of schemas and of Debezium's changes, `metadata_columns`, `event_time` and its
    unit; other options are refused.

    **Outputs.** `pyarrow.Table`, `RecordBatch` or `RecordBatchReader`, `pandas.DataFrame`, `polars.DataFrame` or
    `LazyFrame`, `duckdb.DuckDBPyRelation`. A table without rows is a write of nothing, which is done as any other. A
    column `event` (text or bytes) is the event, and `routing_key` (text) its key; without a column `event`, each row
    becomes a JSON object of all columns but `routing_key`, without null values. With the metadata `pravega/options`
    `{"encode": "auto"}`, rows become events by the newest schema of the stream's group in the registry. The stream must
    exist. All rows are written in one transaction, one batch at a time. With `{"errors": "stream:scope/name"}`, and
    maybe `"most_errors": "1%"`, rows with an error in the column `_error`, as inputs with `on_error=dead` have it, go
    into an errors stream by the same decision.
    """

    schema_registry: SchemaRegistryResource | None = Field(
        default=None, description="has the schemas of the events; without it events are read as they are"
    )
    largest_table: int = Field(
        default=_LARGEST_TABLE,
        description="the most bytes of a range that becomes a table in memory, event headers included",
    )

    def load_range(self, context: InputContext, ranges: InputRange) -> Any:
        """The ranges in the type of the input."""
        _check_arrow()
        import pyarrow as pa

        from pravega_jobs.frames.decoding import decoding_of
        from pravega_jobs.frames.options import FrameOptions
        from pravega_jobs.frames.reads import Scan, read_batches
        from pravega_jobs.frames.scan import lazy_type
        from pravega_jobs.tables import hold_size, table_type

        kind = input_type(context)
        as_table, as_lazy = table_type(kind), lazy_type(kind)
        if as_table is None and as_lazy is None and kind not in (StreamBatches, pa.RecordBatchReader):
            raise ConfigurationError(f"{input_name(context)} is of type {kind!r}, but must be {_TYPES}")
        if as_table is not None:
            ways = (
                f"give {input_name(context)} the type StreamBatches or pyarrow.RecordBatchReader, read a smaller "
                "range, or allow more"
            )
            largest = self.largest_table
            hold_size(ranges.stream, ranges.size, f"largest_table={largest:,}", largest, ways)
        options = FrameOptions.parse(ranges.options, READ_BEFORE)
        cuts = [piece.cuts for piece in ranges.pieces]
        decoding = decoding_of(options, ranges.stream, self.registry, self.pravega.client, cuts)
        context.log.info("The events of %s are decoded by %s", ranges.stream, decoding.described)
        columns = wanted_columns(context, decoding.schema.names)
        if as_lazy is not None:
            return as_lazy(Scan(self.pravega.client, ranges.pieces, decoding, options.unit, columns))
        reader, count = read_batches(self.pravega.client, ranges.pieces, decoding, options.unit, columns)
        if as_table is not None:
            return as_table(reader.read_all())
        return StreamBatches(ranges, count, reader) if kind is StreamBatches else reader

    def check_output(self, obj: Any) -> None:
        """Refuse all but tables and record batches."""
        _check_arrow()
        from pravega_jobs.tables import TABLES, check_table, is_table

        if not is_table(obj):
            raise wrong_output(
                obj, f"{TABLES} for PravegaArrowIOManager; a DataFrame of Spark is for PravegaSparkIOManager"
            )
        check_table(obj)

    def save(self, context: OutputContext, obj: Any, stream: StreamName, write_id: str, generation: int) -> None:
        """Write a table in one transaction."""
        from pravega_jobs.frames.options import FrameOptions
        from pravega_jobs.frames.write import write_rows
        from pravega_jobs.landing.write_errors import errors_of_write
        from pravega_jobs.tables import batches_of

        client = self.pravega.client
        named = [self.error_options(context).get(name) for name in ERRORS_OPTIONS]
        write_rows(
            client,
            batches_of(obj),
            stream,
            write_id,
            FrameOptions.parse({**self.options, **options_of(context.definition_metadata)}, READ_BEFORE),
            registry=self.registry,
            ledger=self.options.get(LEDGER_OPTION),
            generation=generation,
            claimant=claimant_of(context.run_id, context.step_key),
            errors=errors_of_write(client, stream, write_id, generation, *named),
        )

    def schema_metadata(self, obj: Any) -> dict[str, Any]:
        """Metadata of the table's columns. The columns of a LazyFrame are not known before it is computed."""
        from pravega_jobs.tables import schema_of

        return arrow_schema(schema_of(obj))

    @property
    def registry(self) -> "SchemaRegistry | None":
        """The client of the Schema Registry; None: the manager has none."""
        return None if self.schema_registry is None else self.schema_registry.registry


def _check_arrow() -> None:
    missing = [module for module in ("pyarrow", "numpy", "httpx") if find_spec(module) is None]
    if missing:
        raise ConfigurationError(
            f"tables need {', '.join(missing)}, which this environment lacks: pip install 'dagster-pravega[arrow]'"
        )

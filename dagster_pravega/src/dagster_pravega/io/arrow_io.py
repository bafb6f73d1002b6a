"""Assets from and to streams without Spark: as tables of Arrow, pandas and Polars, or as record batches."""

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from dagster import InputContext, OutputContext
from pydantic import Field

from aiopravega import StreamName
from aiopravega.errors import ConfigurationError
from dagster_pravega.io.stream_batches import StreamBatches
from dagster_pravega.io.stream_io import StreamIOManager
from dagster_pravega.metadata.columns import arrow_schema, wanted_columns
from dagster_pravega.metadata.spec import options_of
from dagster_pravega.partitions.event_time_windows import unit_of
from dagster_pravega.partitions.input_range import InputRange
from dagster_pravega.resources.schema_registry import SchemaRegistryResource
from pravega_jobs.events.batches import write_event_batches
from pravega_jobs.spark.options import LEDGER_OPTION

if TYPE_CHECKING:
    from aiopravega.blocking.registry import SchemaRegistry

_LARGEST_TABLE: Final = 1_000_000_000


class PravegaArrowIOManager(StreamIOManager):
    """Reads ranges of streams as tables or record batches, and writes them to streams exactly once, without Spark.

    Which stream an asset is, which range an input reads, the name and the generation of a write, and what a
    materialization reports are those of `PravegaSparkIOManager`. It needs the extra `arrow` of dagster-pravega; pandas
    and Polars are those that are installed.

    **Inputs.** The type of the input says what it gets: `StreamBatches` or `pyarrow.RecordBatchReader`, which read a
    few megabytes at a time; `pyarrow.Table` (also without a type), `pandas.DataFrame` (with Arrow's types) or
    `polars.DataFrame`, which are in memory as a whole: a range of more than `largest_table` bytes is refused. With
    `schema_registry`, the columns are those of the newest schema of the stream's group, if it has one; without,
    `event`, `scope`, `stream`, `segment_id` and `offset`. The metadata `columns` of the `AssetIn` name those that are
    wanted. The metadata `pravega/options` may say `decode` (`raw`, `auto`, `json`, `avro`, `protobuf`), `schema_text`
    (of JSON or Avro), `schema_type`, `schema_registry_group`, `schema_registry_namespace`, `on_error` (`fail`, `drop`),
    `event_time` and its unit; others are refused.

    **Outputs.** `pyarrow.Table`, `RecordBatch` or `RecordBatchReader`, `pandas.DataFrame`, `polars.DataFrame` or
    `LazyFrame`. A column `event` (text or bytes) is the event, and `routing_key` (text) its key; without a column
    `event`, each row becomes a JSON object of all columns but `routing_key`, without those that are null. With the
    metadata `pravega/options` `{"encode": "auto"}`, rows become events by the newest schema of the stream's group in
    the registry. The stream must exist. All is one transaction, of one batch at a time.
    """

    schema_registry: SchemaRegistryResource | None = Field(
        default=None, description="where the schemas of events are; without it they are read as they are"
    )
    largest_table: int = Field(
        default=_LARGEST_TABLE,
        description="the most bytes of a range that becomes a table in memory, event headers included",
    )

    def load_range(self, context: InputContext, found: InputRange) -> Any:
        """The ranges in the type of the input."""
        _check_arrow()
        import pyarrow as pa

        from dagster_pravega.tables.decoding import decoding_of
        from dagster_pravega.tables.options import ArrowOptions
        from dagster_pravega.tables.reads import read_batches
        from dagster_pravega.tables.types import TYPES, table_type

        kind = context.dagster_type.typing_type
        as_table = table_type(kind)
        if as_table is None and kind not in (StreamBatches, pa.RecordBatchReader):
            raise ConfigurationError(f"input {context.name!r} is of type {kind!r}, but must be {TYPES}")
        if as_table is not None and found.size > self.largest_table:
            raise ConfigurationError(
                f"the range of {found.stream} has {found.size:,} bytes, and as a table it would be in memory as a "
                f"whole, which largest_table={self.largest_table:,} forbids: give input {context.name!r} the type "
                "StreamBatches or pyarrow.RecordBatchReader, take a smaller range, or allow more"
            )
        decoding = decoding_of(ArrowOptions.parse(found.options), found.stream, self._registry)
        context.log.info("The events of %s are decoded by %s", found.stream, decoding.described)
        columns = wanted_columns(context, decoding.schema.names)
        reader, count = read_batches(self.pravega.client, found, decoding, unit_of(found.options), columns)
        if as_table is not None:
            return as_table(reader.read_all())
        return StreamBatches(found, count, reader) if kind is StreamBatches else reader

    def save(self, context: OutputContext, obj: Any, stream: StreamName, write_id: str, generation: int) -> None:
        """Write a table in one transaction."""
        _check_arrow()
        from dagster_pravega.tables.events import event_maker
        from dagster_pravega.tables.options import ArrowOptions
        from dagster_pravega.tables.types import batches_of

        rows = batches_of(obj)
        options = {**self.options, **options_of(context.definition_metadata)}
        maker = event_maker(rows.schema, ArrowOptions.parse(options), stream, self._registry)
        client, ledger = self.pravega.client, self.options.get(LEDGER_OPTION)
        write_event_batches(client, stream, write_id, maker.batches(rows), ledger, generation)

    def schema_metadata(self, obj: Any) -> dict[str, Any]:
        """The columns of the table; those of a LazyFrame are not known before it is computed."""
        _check_arrow()
        from dagster_pravega.tables.types import schema_of

        return arrow_schema(schema_of(obj))

    @property
    def _registry(self) -> "SchemaRegistry | None":
        return None if self.schema_registry is None else self.schema_registry.registry


def _check_arrow() -> None:
    missing = [module for module in ("pyarrow", "numpy", "httpx") if find_spec(module) is None]
    if missing:
        raise ConfigurationError(
            f"tables need {', '.join(missing)}, which this environment lacks: pip install 'dagster-pravega[arrow]'"
        )

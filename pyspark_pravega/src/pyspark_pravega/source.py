"""The data source `pravega` for Spark.

Spark imports this module in every session that looks for data sources, and a failing import would disable all sources
that are written in Python: so all modules but Spark's are imported when they are used.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NoReturn

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

# Spark's module for streaming reads, which older versions do not have.
_SINCE_4_2: Final = "pyspark.sql.streaming.datasource"

if TYPE_CHECKING:
    from pyspark_pravega.read.batch import PravegaBatchReader
    from pyspark_pravega.read.columns import Columns
    from pyspark_pravega.read.metadata import MetadataTable, PravegaMetadataReader
    from pyspark_pravega.read.read_options import ReadOptions
    from pyspark_pravega.read.stream import PravegaStreamReader
    from pyspark_pravega.write.batch import PravegaBatchWriter
    from pyspark_pravega.write.stream import PravegaStreamWriter


class OldSparkStreamReader(DataSourceStreamReader):
    """Refuses streaming reads on a Spark that is too old for them, whichever method Spark calls first.

    Spark 4.1 hides an error while a reader is made, but shows an error that the reader raises.
    """

    def initialOffset(self) -> NoReturn:  # noqa: N802 - Spark's name
        """Refuse.

        Raises:
            ConfigurationError: always.
        """
        from aiopravega.errors import ConfigurationError

        raise ConfigurationError(
            "streaming reads need PySpark 4.2 or newer: older ones do not say where a batch begins, and know no "
            "limit for it. Batch reads work since 4.1"
        )

    def latestOffset(self, *_: Any) -> NoReturn:  # noqa: N802 - Spark's name
        """Refuse.

        Raises:
            ConfigurationError: always.
        """
        self.initialOffset()

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        """Return no rows; Spark does not call it."""
        return iter(())


class PravegaDataSource(DataSource):
    """Streams of Pravega as DataFrames: reads between two StreamCuts or in micro-batches; exactly-once writes."""

    @classmethod
    def name(cls) -> str:
        """The name for `format`."""
        return "pravega"

    def schema(self) -> StructType:
        """The columns of a read. If a table is being made, they keep its options.

        Raises:
            ConfigurationError: an option cannot work.
        """
        from pyspark_pravega.table import statement_options, with_options

        statement = statement_options(self.options)
        if statement is None:
            return self._columns.schema if self._metadata is None else self._metadata.schema
        self.options = statement
        pinned = {} if self._metadata is not None else self._columns.pinned
        return with_options(self.schema(), statement | pinned)

    def reader(self, schema: StructType) -> "PravegaBatchReader | PravegaMetadataReader":
        """The reader of a batch job.

        Raises:
            ConfigurationError: an option or the schema cannot work.
        """
        from pyspark_pravega.read.batch import PravegaBatchReader
        from pyspark_pravega.read.metadata import PravegaMetadataReader

        self._recall(schema)
        if self._metadata is not None:
            return PravegaMetadataReader(self.options, schema)
        return PravegaBatchReader(self._read_options, self._columns_given(schema).check(schema))

    def streamReader(self, schema: StructType) -> "PravegaStreamReader | OldSparkStreamReader":  # noqa: N802 - Spark's name
        """The reader of a streaming query.

        Raises:
            ConfigurationError: an option or the schema cannot work.
        """
        try:
            from pyspark_pravega.read.stream import PravegaStreamReader
        except ModuleNotFoundError as error:
            if error.name != _SINCE_4_2:
                raise
            return OldSparkStreamReader()

        self._recall(schema)
        return PravegaStreamReader(self._read_options, self._columns_given(schema).check(schema))

    def writer(self, schema: StructType, overwrite: bool) -> "PravegaBatchWriter":
        """The writer of a batch job.

        Raises:
            PravegaError: an option, a column or the stream cannot work.
        """
        from pyspark_pravega.write.batch import PravegaBatchWriter

        return PravegaBatchWriter(self.options, schema, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> "PravegaStreamWriter":  # noqa: N802 - Spark's name
        """The writer of a streaming query.

        Raises:
            PravegaError: an option, a column or the stream cannot work.
        """
        from pyspark_pravega.write.stream import PravegaStreamWriter

        return PravegaStreamWriter(self.options, schema, overwrite)

    @property
    def _metadata(self) -> "MetadataTable | None":
        """The table of metadata that is read; None if a stream is read."""
        from pravega_jobs.decoding.option_texts import METADATA_OPTION
        from pyspark_pravega.read.metadata import MetadataTable

        names = [text for option, text in self.options.items() if option.lower() == METADATA_OPTION and text]
        return MetadataTable.named(names[0]) if names else None

    # Cached: Spark sends the source with them to the process that makes the reader.
    @cached_property
    def _read_options(self) -> "ReadOptions":
        from pyspark_pravega.read.read_options import ReadOptions

        return ReadOptions.parse(self.options)

    @cached_property
    def _columns(self) -> "Columns":
        """The columns of a read."""
        from pyspark_pravega.read.decoded import read_columns

        return read_columns(self._read_options)

    def _columns_given(self, schema: StructType) -> "Columns":
        """The columns of a read: by the options, or by the schema that the user gave to the reader."""
        from pyspark_pravega.read.decoded import read_columns

        options = self._read_options
        own = "_columns" in vars(self)  # Spark has asked for the columns, so that the schema is not the user's
        by_options = options.decode.columns is not None or not options.decode.takes_columns
        return self._columns if own or by_options else read_columns(options, schema)

    def _recall(self, schema: StructType) -> None:
        """Take the options that the columns of a table keep, since Spark passes no others; the query's options win."""
        from pyspark_pravega.table import kept_options

        if not {"stream", "streams"} & {name.lower() for name in self.options}:
            self.options = {**kept_options(schema), **self.options}

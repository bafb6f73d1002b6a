"""`metadata=Streams` and `metadata=StreamInfo`: the streams of a scope, and the head and the tail of a stream.

The tables have the names and columns that they have in Pravega's JVM connector.
"""

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Final

from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StringType, StructField, StructType

from aiopravega.blocking import PravegaClient
from aiopravega.errors import ConfigurationError, PravegaError
from aiopravega.names import check_name
from pravega_jobs.decoding.option_texts import METADATA_OPTION, Options
from pyspark_pravega.connections import cluster
from pyspark_pravega.read.read_options import READ_OPTIONS
from pyspark_pravega.write.write_options import WRITE_OPTIONS

Row = tuple[str, str]


class MetadataTable(Enum):
    """The tables, and the columns of each."""

    STREAMS = ("scope_name", "stream_name")
    STREAM_INFO = ("head_stream_cut", "tail_stream_cut")

    @property
    def schema(self) -> StructType:
        """The columns as Spark's."""
        return StructType([StructField(name, StringType()) for name in self.value])

    @classmethod
    def named(cls, name: str) -> "MetadataTable":
        """The table of a name, in any case.

        Raises:
            ConfigurationError: there is no such table.
        """
        for text, table in _NAMES.items():
            if name.strip().lower() == text.lower():
                return table
        raise ConfigurationError(f"option {METADATA_OPTION!r} is {name!r}, but must be {' or '.join(_NAMES)}")


_NAMES: Final = {"Streams": MetadataTable.STREAMS, "StreamInfo": MetadataTable.STREAM_INFO}


class _Rows(InputPartition):
    """A partition that has the rows themselves: they are few, and the driver asks for them."""

    def __init__(self, rows: list[Row]) -> None:
        super().__init__(rows)
        self.rows = rows


class PravegaMetadataReader(DataSourceReader):
    """Reads one of the tables, as they are when the job is planned.

    Raises:
        ConfigurationError: an option or the given schema cannot work.
    """

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        given = Options(options, {*READ_OPTIONS, *WRITE_OPTIONS}, "a read of Pravega's metadata")
        self._table = MetadataTable.named(given.text(METADATA_OPTION) or "")
        self._config = given.config()
        if schema.names != self._table.schema.names:
            raise ConfigurationError(
                f"this table has the columns {', '.join(self._table.value)}, but the schema "
                f"{schema.simpleString()} was given: leave it out"
            )
        if self._table is MetadataTable.STREAM_INFO:
            self._stream = given.stream(self._config)
        elif not self._config.scope:
            raise ConfigurationError("option 'scope' is missing: give .option('scope', …)")
        else:
            check_name("scope", self._config.scope)

    def partitions(self) -> list[InputPartition]:
        """Ask for all rows.

        Raises:
            NotFoundError: there is no such scope or stream.
            PravegaError: the cluster cannot be reached, or refuses.
        """
        try:
            return [_Rows(self._rows(cluster(self._config).client))]
        except PravegaError as error:
            # Spark shows the traceback in front of the message, so it is left out.
            raise error.with_traceback(None) from None

    def read(self, partition: InputPartition) -> Iterator[Row]:
        """The rows."""
        if isinstance(partition, _Rows):
            yield from partition.rows

    def _rows(self, client: PravegaClient) -> list[Row]:
        if self._table is MetadataTable.STREAMS:
            streams = client.list_streams(self._config.scope or "")
            return [(stream.scope, stream.stream) for stream in sorted(streams)]
        name = self._stream
        head, tail = client.head(name), client.tail(name)
        return [(head.to_text(), tail.to_text())]

"""The data source `pravega` for Spark.

Spark imports this in every session that looks for data sources, and a failing import would disable all that are
written in Python: so all but Spark itself is imported when it is used.
"""

from functools import cached_property
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructType

if TYPE_CHECKING:
    from pyspark_pravega.read.batch import PravegaBatchReader
    from pyspark_pravega.read.columns import Columns
    from pyspark_pravega.write.batch import PravegaBatchWriter


class PravegaDataSource(DataSource):
    """Streams of Pravega as DataFrames: bounded reads between two StreamCuts, exactly-once writes."""

    @classmethod
    def name(cls) -> str:
        """The name for `format`."""
        return "pravega"

    def schema(self) -> StructType:
        """The columns of a read.

        Raises:
            ConfigurationError: an option cannot work.
        """
        return self._columns.schema

    def reader(self, schema: StructType) -> "PravegaBatchReader":
        """The reader of a batch job.

        Raises:
            ConfigurationError: an option or the schema cannot work.
        """
        from pyspark_pravega.read.batch import PravegaBatchReader

        return PravegaBatchReader(self.options, self._columns.check(schema))

    def writer(self, schema: StructType, overwrite: bool) -> "PravegaBatchWriter":
        """The writer of a batch job.

        Raises:
            PravegaError: an option, a column or the stream cannot work.
        """
        from pyspark_pravega.write.batch import PravegaBatchWriter

        return PravegaBatchWriter(self.options, schema, overwrite)

    @cached_property
    def _columns(self) -> "Columns":
        """The columns of a read, found once: Spark sends the source on to the process that makes the reader."""
        from pyspark_pravega.read.columns import Columns
        from pyspark_pravega.read.options import ReadOptions

        options = ReadOptions.parse(self.options)
        return Columns.of(options.metadata_columns, None, options.metadata_prefix)

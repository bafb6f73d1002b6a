"""The data source `pravega` for Spark.

Spark imports this in every session that looks for data sources, and a failing import would disable all that are
written in Python: so all but Spark itself is imported when it is used.
"""

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource
from pyspark.sql.types import BinaryType, LongType, StringType, StructField, StructType

if TYPE_CHECKING:
    from pyspark_pravega.read.batch import PravegaBatchReader
    from pyspark_pravega.write.batch import PravegaBatchWriter

# The columns of Pravega's JVM connector, in its order.
READ_SCHEMA = StructType(
    [
        StructField("event", BinaryType()),
        StructField("scope", StringType()),
        StructField("stream", StringType()),
        StructField("segment_id", LongType()),
        StructField("offset", LongType()),
    ]
)


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
        from pyspark_pravega.read.options import ReadOptions

        ReadOptions.parse(self.options)
        return READ_SCHEMA

    def reader(self, schema: StructType) -> "PravegaBatchReader":
        """The reader of a batch job.

        Raises:
            ConfigurationError: an option or the schema cannot work.
        """
        from pyspark_pravega.read.batch import PravegaBatchReader

        return PravegaBatchReader(self.options, schema)

    def writer(self, schema: StructType, overwrite: bool) -> "PravegaBatchWriter":
        """The writer of a batch job.

        Raises:
            PravegaError: an option, a column or the stream cannot work.
        """
        from pyspark_pravega.write.batch import PravegaBatchWriter

        return PravegaBatchWriter(self.options, schema, overwrite)

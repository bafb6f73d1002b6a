"""From options and a DataFrame's schema to the columns of a write, with the way in which they are encoded."""

from pyspark.sql.types import StructType

from pyspark_pravega.decode.decode_options import Format
from pyspark_pravega.write.columns import SinkColumns
from pyspark_pravega.write.write_options import WriteOptions


def sink_columns(options: WriteOptions, schema: StructType) -> SinkColumns:
    """The columns of a write, checked; a schema that the registry lacks is registered.

    Raises:
        ConfigurationError: a column cannot work, or does not fit the schema of the events.
        PravegaError: the registry cannot be asked, or refuses the schema.
    """
    columns = SinkColumns.find(schema, options.columns)
    if options.encode.format is Format.RAW:
        return columns
    from pyspark_pravega.encode.planning import encode_plan
    from pyspark_pravega.encode.written_changes import check_key

    if options.encode.changes is not None:
        check_key(options.encode.changes, has_routing_key=columns.routing_key is not None)
    return columns.planned(encode_plan(options.encode, options.config, options.stream, columns.arrow_fields))

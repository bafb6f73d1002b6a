"""The columns of a read from its options, decoded ones included; this is where a schema is looked up.

Raw reads import nothing of schemas: the processes that Spark starts for them are ready sooner.
"""

from pyspark.sql.types import StructType

from aiopravega.errors import PravegaError
from pyspark_pravega.decode.decode_options import Format
from pyspark_pravega.decode.decoder import DecodePlan
from pyspark_pravega.read.columns import ALL, CORRUPT, METADATA_COLUMNS, Columns
from pyspark_pravega.read.read_options import ReadOptions


def read_columns(options: ReadOptions, given: StructType | None = None) -> Columns:
    """The columns of a read.

    Args:
        options: of the read.
        given: the schema that the user gave to Spark's reader.

    Raises:
        ConfigurationError: an option or a schema cannot work.
        PravegaError: the schema cannot be had from the registry.
    """
    streams = [source.stream for source in options.sources]
    try:
        decoding: DecodePlan | None = None
        if options.decode.format is not Format.RAW:
            from pyspark_pravega.decode.planning import decode_plan

            decoding = decode_plan(options.decode, options.config, streams, given and _events_of(options, given))
        if options.interval is not None:
            from pyspark_pravega.read.within import within

            decoding = within(decoding, options.interval, options.decode.on_error)
        return Columns.of(options.metadata_columns, decoding, options.metadata_prefix)
    except PravegaError as error:
        # Spark shows the traceback in front of the message, which says all: leave it short.
        raise error.with_traceback(None) from None


def _events_of(options: ReadOptions, given: StructType) -> StructType:
    """The columns of a given schema that are the events' own."""
    asked = METADATA_COLUMNS if ALL in options.metadata_columns else options.metadata_columns
    others = {options.metadata_prefix + name for name in asked} | {CORRUPT}
    return StructType([field for field in given.fields if field.name.lower() not in others])

"""The columns of a read, from its options; for decoded events this module finds the schema.

Raw reads import no modules of schemas: the processes that Spark starts for them are ready sooner.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.sql.types import StructType

from aiopravega.errors import PravegaError
from pravega_jobs.decoding.options import Format, OnError
from pravega_jobs.error_rows import KEPT
from pyspark_pravega.arrow_types import spark_schema
from pyspark_pravega.connections import cluster
from pyspark_pravega.decode.plans import SparkPlan, change_plan, decode_plan
from pyspark_pravega.read.columns import ALL, METADATA_COLUMNS, Columns
from pyspark_pravega.read.interval import TimeInterval
from pyspark_pravega.read.plan import range_of
from pyspark_pravega.read.read_options import ReadOptions

if TYPE_CHECKING:
    from aiopravega.schema import SchemaVersion


def read_columns(options: ReadOptions, given: StructType | None = None) -> Columns:
    """The columns of a read.

    Args:
        options: options of the read.
        given: the schema that the user gave to Spark's reader; not with option `columns`.

    Raises:
        ConfigurationError: an option or a schema cannot work.
        PravegaError: the registry does not give the schema.
    """
    streams = [source.stream for source in options.sources]
    try:
        decoding: SparkPlan | None = None
        asked = options.metadata_columns
        if options.decode.columns is not None:
            from pravega_jobs.decoding.planning import named_columns

            given = spark_schema(named_columns(options.decode, asked))
        if options.decode.format.is_changes:
            decoding, asked = _changes(options, given)
        elif options.decode.format is not Format.RAW:
            decoding = decode_plan(options.decode, options.config, streams, given and _events_of(options, given, asked))
        if options.interval is not None:
            decoding = _within(decoding, options.interval, options.decode.on_error)
        return Columns.of(asked, decoding, options.metadata_prefix)
    except PravegaError as error:
        # Spark shows the traceback in front of the message, so it is left out.
        raise error.with_traceback(None) from None


def _within(decoding: SparkPlan | None, interval: TimeInterval, on_error: OnError) -> SparkPlan:
    """The plan with the rows of an interval of event times."""
    from pravega_jobs.decoding.event_times import within

    kept = within(decoding and decoding.plan, interval.column, interval.numbers, interval.unit, on_error)
    assert decoding is not None  # raw events are refused
    return SparkPlan(kept, decoding.schema)


def _changes(options: ReadOptions, given: StructType | None) -> tuple[SparkPlan, tuple[str, ...]]:
    """The plan for change events, and the columns of option `metadata_columns` that are not about changes."""
    from pravega_jobs.decoding.change_planning import about_changes
    from pravega_jobs.decoding.registries import Registered, registered_groups
    from pravega_jobs.merging.newest_change import newest_schema

    about, others = about_changes(options.metadata_columns)

    def newest() -> str:
        client = cluster(options.config).client
        changes = options.decode.changes
        ranges = [range_of(client, source, options.interval) for source in options.sources]
        return newest_schema(client, ranges, changes.table if changes else None)

    def registered() -> tuple[Registered, "SchemaVersion"]:
        return registered_groups(options.decode, options.config, [source.stream for source in options.sources])

    own = given and _events_of(options, given, others)
    return change_plan(options.decode, about, own, newest, registered), others


def _events_of(options: ReadOptions, given: StructType, asked: Sequence[str]) -> StructType:
    """The columns of a given schema that are fields of the events."""
    names = METADATA_COLUMNS if ALL in asked else asked
    others = {options.metadata_prefix + name for name in names} | KEPT.keys()
    return StructType([field for field in given.fields if field.name.lower() not in others])

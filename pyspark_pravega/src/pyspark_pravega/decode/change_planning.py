"""From options to a plan for change events, on the driver: whose columns a read has, and what its values stand for.

The columns come from the user's `.schema(…)`, from a schema in the options, or from the newest schema in the range.
"""

from collections.abc import Callable
from typing import Final

from pyspark.sql.types import StructType

from aiopravega.errors import ConfigurationError
from aiopravega.schema.debezium import metadata
from aiopravega.schema.debezium.connect import schema_in
from aiopravega.schema.debezium.meanings import columns_of
from aiopravega.schema.debezium.options import NewColumns
from aiopravega.schema.debezium.plan import ChangePlan, columns_for
from pyspark_pravega.arrow_types import arrow_schema, of_user, spark_schema
from pyspark_pravega.decode.changes import ChangesPlan
from pyspark_pravega.decode.decode_options import DecodeOptions

# The name that stands for all columns about changes, but for those that cost much.
CDC: Final = "cdc"
# What a read has that names none: without the second, an unchanged TOAST value could only be refused.
_DEFAULT: Final = (metadata.CHANGE_TYPE, metadata.UNCHANGED)


def about_changes(asked: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The columns of option `metadata_columns` that are about changes, and the others."""
    own = metadata.USUAL if CDC in asked else ()
    own += tuple(name for name in asked if name in metadata.TYPES and name not in own)
    return own, tuple(name for name in asked if name != CDC and name not in metadata.TYPES)


def change_plan(
    options: DecodeOptions, asked: tuple[str, ...], given: StructType | None, newest: Callable[[], str]
) -> ChangesPlan:
    """How change events become rows.

    Args:
        options: of the read.
        asked: the columns about changes that option `metadata_columns` names.
        given: the columns that the user gave to Spark's reader.
        newest: finds the newest schema that events of the range carry, as JSON.

    Raises:
        ConfigurationError: the options cannot work, or no columns are known.
    """
    changes = options.changes
    assert changes is not None
    text = None if options.schema is None else options.schema.decode(errors="replace")
    found = None
    if text is None and given is None:
        text = found = newest()
    try:
        meanings = None if text is None else schema_in(text)
    except ConfigurationError as error:
        raise ConfigurationError(f"the schema for decode=debezium-json: {error}") from None
    if given is not None:
        lacking = [name for name in asked if name not in given.names]
        if lacking:
            raise ConfigurationError(
                f"option 'metadata_columns' asks for {', '.join(lacking)}, which .schema(…) does not have: "
                "name them there"
            )
        return ChangesPlan(ChangePlan(arrow_schema(of_user(given)), changes, meanings), given, options.on_error)
    assert meanings is not None
    about = asked or _DEFAULT
    if changes.new_columns is NewColumns.REST and metadata.REST not in about:
        about = (*about, metadata.REST)
    plan = ChangePlan(columns_for(columns_of(meanings), changes, about), changes, None if found else meanings)
    return ChangesPlan(plan, spark_schema(plan.schema), options.on_error, found)

"""From options to a plan for change events, on the driver: the columns of a read, and the meanings of its values.

The columns come from the user's `.schema(…)`, from a schema in the options, from the newest schema in the range, or
from the registry.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from aiopravega.errors import ConfigurationError
from pravega_jobs.debezium.changes import metadata
from pravega_jobs.debezium.changes.connect import schema_in
from pravega_jobs.debezium.changes.meanings import columns_of
from pravega_jobs.debezium.changes.options import NewColumns
from pravega_jobs.debezium.changes.plan import ChangePlan, columns_for
from pravega_jobs.debezium.changes.registered.envelopes import table_columns
from pravega_jobs.debezium.changes.registered.texts import ChangeTexts
from pravega_jobs.decoding.changes import ChangesPlan, RegisteredChanges
from pravega_jobs.decoding.options import DecodeOptions, Format
from pravega_jobs.decoding.registries import Registered

if TYPE_CHECKING:
    from aiopravega.schema import SchemaVersion

# The name that stands for all columns about changes, without the expensive ones.
CDC: Final = "cdc"
# The columns of a read that names none: without the second, an unchanged TOAST value could only be refused.
_DEFAULT: Final = (metadata.CHANGE_TYPE, metadata.UNCHANGED)


def about_changes(asked: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The columns of option `metadata_columns` that are about changes, and the others."""
    own = metadata.USUAL if CDC in asked else ()
    own += tuple(name for name in asked if name in metadata.TYPES and name not in own)
    return own, tuple(name for name in asked if name != CDC and name not in metadata.TYPES)


def change_plan(
    options: DecodeOptions,
    asked: tuple[str, ...],
    given: pa.Schema | None,
    newest: Callable[[], str],
    registered: Callable[[], tuple[Registered, "SchemaVersion"]],
) -> ChangesPlan:
    """Make the plan by which change events become rows.

    Args:
        options: options of the read.
        asked: the columns about changes that option `metadata_columns` names.
        given: the columns that the user gave, by option or to Spark's reader.
        newest: finds the newest schema that events of the range carry, as JSON.
        registered: finds the groups of the streams, and the schema in the registry to read with.

    Raises:
        ConfigurationError: the options cannot work, or no columns are known.
    """
    changes = options.changes
    assert changes is not None
    text = None if options.schema is None else options.schema.decode(errors="replace")
    source = chosen = schema_of_events = None
    by_canal = options.format is Format.CANAL
    if by_canal:
        if given is None:
            raise ConfigurationError(
                "decode=canal-json needs the columns: give them as SQL writes them with option 'columns' (id long, "
                "price decimal(10,2)) or with .schema(…) on the reader, and _change_type among them"
            )
    elif options.format is not Format.DEBEZIUM or options.registry is not None:
        groups, version = registered()
        chosen = version.schema_info
        source = RegisteredChanges(groups, ChangeTexts(chosen.format, chosen.type, chosen.schema_data))
    elif text is None and given is None:
        text = schema_of_events = newest()
    try:
        meanings = None if text is None else schema_in(text)
    except ConfigurationError as error:
        raise ConfigurationError(f"the schema for decode={options.format}: {error}") from None
    if given is not None:
        lacking = [name for name in asked if name not in given.names]
        if lacking:
            raise ConfigurationError(
                f"option 'metadata_columns' asks for {', '.join(lacking)}, which .schema(…) does not have: "
                "name them there"
            )
        of_given = ChangePlan(given, changes, meanings)
        if by_canal:
            _check_zones(of_given.table)
        return ChangesPlan(of_given, options.on_error, source=source, by_canal=by_canal)
    about = asked or _DEFAULT
    if changes.new_columns is NewColumns.REST and metadata.REST not in about:
        about = (*about, metadata.REST)
    if meanings is not None:
        table = columns_of(meanings)
    else:
        assert chosen is not None
        table = table_columns(chosen)
    plan = ChangePlan(columns_for(table, changes, about), changes, None if schema_of_events else meanings)
    return ChangesPlan(plan, options.on_error, schema_of_events, source)


def _check_zones(table: pa.Schema) -> None:
    """Refuse columns of the table that are points in time: Canal writes times without their zone."""
    for one in table:
        if pa.types.is_timestamp(one.type) and one.type.tz is not None:
            raise ConfigurationError(
                f"column {one.name!r} is a point in time, but Canal writes times without a zone: make it "
                "timestamp_ntz, and convert it with the zone of Canal's server"
            )

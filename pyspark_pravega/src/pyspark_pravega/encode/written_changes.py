"""Options of change events that are written, for `encode=debezium-json`.

They have the names of the options of `decode=debezium-json`, so that one set serves a write and the read after it.
"""

from aiopravega.errors import ConfigurationError
from pravega_jobs.debezium.changes.options import Changes, Decimals, TimePrecision, WrittenChanges
from pravega_jobs.decoding.option_texts import Options, choice
from pravega_jobs.decoding.options import WITH_SCHEMAS, Format


def written_changes(given: Options) -> WrittenChanges:
    """Read the options.

    Raises:
        ConfigurationError: an option cannot work.
    """
    return WrittenChanges(
        changes=None if given.text("changes") is None else choice(given, "changes", Changes, Changes.UPSERT),
        key=given.names("key"),
        table=given.text("table"),
        with_schemas=given.flag(WITH_SCHEMAS, False),
        time_precision=choice(given, "time_precision", TimePrecision, TimePrecision.ADAPTIVE),
        decimals=choice(given, "decimals", Decimals, Decimals.ADAPTIVE),
    )


def check_idle(given: Options, names: tuple[str, ...]) -> None:
    """Check that no option was given which has no effect on change events.

    Raises:
        ConfigurationError: one was given.
    """
    useless = [name for name in names if given.text(name)]
    if useless:
        raise ConfigurationError(
            f"option {useless[0]!r} has no use with encode={Format.DEBEZIUM}: the events are JSON without a registry, "
            "and the meanings of their values are in the columns, or in option schema_file"
        )


def check_key(options: WrittenChanges, *, has_routing_key: bool) -> None:
    """Check that an option or a column gives the routing keys, so that changes of a row go to one segment.

    Raises:
        ConfigurationError: no option and no column gives them.
    """
    if not options.key and not has_routing_key:
        raise ConfigurationError(
            f"encode={Format.DEBEZIUM} needs option 'key', the columns that identify a row: otherwise its changes have "
            "no order. For a table without a key, name a column with option 'event_router', or have one named "
            "'routing_key'"
        )

"""Options of change events of Debezium, for `decode=debezium-json` and its relatives."""

from aiopravega.errors import ConfigurationError
from pravega_jobs.debezium.changes.options import (
    UNAVAILABLE,
    BeforeImage,
    ChangeOptions,
    Changes,
    Decimals,
    NewColumns,
    TimePrecision,
    Truncates,
)
from pravega_jobs.decoding.option_texts import Options, choice


def change_options(given: Options, *, infinity_is_null: bool) -> ChangeOptions:
    """Read the options.

    Raises:
        ConfigurationError: an option cannot work.
    """
    if given.flag("dedup", False):
        raise ConfigurationError(
            "option 'dedup': a task sees only its part of a range, and a double may be in another. Ask for the "
            "columns _sequence and _op, and call .dropDuplicates([…key…, '_sequence', '_op']) on the DataFrame"
        )
    return ChangeOptions(
        changes=choice(given, "changes", Changes, Changes.UPSERT),
        key=given.names("key"),
        table=given.text("table"),
        new_columns=choice(given, "new_columns", NewColumns, NewColumns.IGNORE),
        truncates=choice(given, "truncates", Truncates, Truncates.ROW),
        before_image=choice(given, "before_image", BeforeImage, BeforeImage.AUTO),
        time_precision=choice(given, "time_precision", TimePrecision, TimePrecision.ADAPTIVE),
        decimals=choice(given, "decimals", Decimals, Decimals.ADAPTIVE),
        infinity_is_null=infinity_is_null,
        unavailable_placeholder=given.text("unavailable_placeholder") or UNAVAILABLE,
    )

"""What a user may say about change events of Debezium: options of `decode=debezium-json`."""

from typing import Final

from aiopravega.errors import ConfigurationError
from pravega_jobs.debezium.changes.options import (
    BeforeImage,
    ChangeOptions,
    Changes,
    Decimals,
    NewColumns,
    TimePrecision,
    Truncates,
)
from pyspark_pravega.option_texts import Options, choice

_CHANGES: Final = "changes"
_KEY: Final = "key"
_TABLE: Final = "table"
_NEW_COLUMNS: Final = "new_columns"
_TRUNCATES: Final = "truncates"
_BEFORE_IMAGE: Final = "before_image"
_TIME_PRECISION: Final = "time_precision"
_DECIMALS: Final = "decimals"
_DEDUP: Final = "dedup"


def change_options(given: Options, *, infinity_is_null: bool) -> ChangeOptions:
    """Read the options.

    Raises:
        ConfigurationError: one cannot work.
    """
    if given.flag(_DEDUP, False):
        raise ConfigurationError(
            f"option {_DEDUP!r}: a task sees its part of a range only, and a double may be in another one. Ask for the "
            "columns _sequence and _op, and call .dropDuplicates([…key…, '_sequence', '_op']) on the DataFrame"
        )
    return ChangeOptions(
        changes=choice(given, _CHANGES, Changes, Changes.UPSERT),
        key=key_columns(given),
        table=given.text(_TABLE),
        new_columns=choice(given, _NEW_COLUMNS, NewColumns, NewColumns.IGNORE),
        truncates=choice(given, _TRUNCATES, Truncates, Truncates.ROW),
        before_image=choice(given, _BEFORE_IMAGE, BeforeImage, BeforeImage.AUTO),
        time_precision=choice(given, _TIME_PRECISION, TimePrecision, TimePrecision.ADAPTIVE),
        decimals=choice(given, _DECIMALS, Decimals, Decimals.ADAPTIVE),
        infinity_is_null=infinity_is_null,
    )


def key_columns(given: Options) -> tuple[str, ...]:
    """The columns that identify a row, by option `key`.

    Raises:
        ConfigurationError: one is named twice.
    """
    names = tuple(name.strip() for name in (given.text(_KEY) or "").split(",") if name.strip())
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ConfigurationError(f"option {_KEY!r} has {', '.join(twice)} more than once")
    return names

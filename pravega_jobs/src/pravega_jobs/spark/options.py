"""The words of Spark's data source `pravega` that schedulers and the source itself share: its name and its options.

Spark is not needed here.
"""

from collections.abc import Mapping
from typing import Final

from pydantic import SecretStr

from aiopravega.config import PravegaConfig
from aiopravega.cuts import StreamCutRange
from aiopravega.errors import ConfigurationError

FORMAT: Final = "pravega"
# The option for each setting of a connection. What is not given comes from the environment (PRAVEGA_…).
CONNECTION_OPTIONS: Final[Mapping[str, str]] = {
    "controller": "controller_uri",
    "controller_uri": "controller_uri",
    "scope": "scope",
    "username": "username",
    "password": "password",
    "token": "token",
    "token_source": "token_source",
    "ca_file": "ca_file",
    "verify_hostname": "verify_hostname",
    "max_event_bytes": "max_event_bytes",
}
STREAM_OPTION: Final = "stream"
RANGE_OPTIONS: Final = ("start_stream_cut", "end_stream_cut")
# The column with the events' times: a write notes them, and a read of an interval filters by them.
TIME_OPTION: Final = "event_time"
TIME_UNIT_OPTION: Final = "event_time_unit"
# The options for an interval of event times.
INTERVAL_OPTIONS: Final = ("event_time_from", "event_time_to", "event_time_ahead_ms", "event_time_clip")
LEDGER_OPTION: Final = "commit_ledger"
WRITE_ID_OPTION: Final = "write_id"
# The behaviour of a write whose id is used already: `verify` compares the rows, `skip` does nothing, `fail` fails.
ON_WRITTEN_OPTION: Final = "on_written"
# The generation of a write, from 1 on: rows that are written again on purpose have a greater one.
REBUILD_OPTION: Final = "rebuild"
# The work that a write is for, by which a later try of the same run and step recognises its own record. For schedulers.
CLAIMANT_OPTION: Final = "claimant"
# The stream of the errors of a write, the most errors, and the names of consumer and interval that they get.
ERRORS_OPTION: Final = "errors"
ERRORS_OPTIONS: Final = (ERRORS_OPTION, "most_errors", "consumer", "interval")
# The columns of decoded events, as SQL writes them; see `aiopravega.schema.arrow.sql_columns`.
COLUMNS_OPTION: Final = "columns"
# The treatment of fields of the columns that a JSON event lacks: `null` is a value, `fail` makes the event malformed.
MISSING_FIELDS_OPTION: Final = "missing_fields"
# The texts of points in time and of decimals that are written as JSON.
TIMESTAMP_FORMAT_OPTION: Final = "timestamp_format"
JSON_DECIMALS_OPTION: Final = "json_decimals"
JSON_OPTIONS: Final = (TIMESTAMP_FORMAT_OPTION, JSON_DECIMALS_OPTION)
# The metadata columns that a read is asked for.
METADATA_COLUMNS_OPTION: Final = "metadata_columns"
# Put in front of the names of metadata columns.
METADATA_PREFIX_OPTION: Final = "metadata_prefix"
# A metadata column for jobs that count: null in the events' rows. After the last event of each piece of the range comes
# one more row, with the bytes of the piece in this column and nulls in the others. The sum is the bytes of the range
# only if each piece was read to its end, once.
READ_BYTES: Final = "_pravega_read_bytes"
# The column of events that could not be decoded.
CORRUPT: Final = "_corrupt_event"
# The column of errors: events that could not be decoded, with positions and reasons. Its type as SQL writes it.
ERROR: Final = "_error"
ERROR_SQL: Final = "struct<event:binary,routing_key:string,pointer:string,reason:string,schema_id:int>"
# Options of a read that splits no segment.
UNSPLIT: Final[Mapping[str, str]] = {"split_bytes": "0"}
# Options that a scheduler reads before the options of decoding: intervals, ledger, errors, division of Spark's work.
READ_BEFORE: Final = (*INTERVAL_OPTIONS, LEDGER_OPTION, *ERRORS_OPTIONS, *UNSPLIT)
_SECRET_ENDS: Final = ("password", "token")


def is_secret_option(name: str) -> bool:
    """Return True if the value of an option is a secret, which no scheduler may keep or log."""
    return name.lower().endswith(_SECRET_ENDS)


def connection_options(config: PravegaConfig) -> dict[str, str]:
    """The options of a read or a write that reach the cluster; passwords and tokens are among them: never log them."""
    options: dict[str, str] = {}
    for option, setting in CONNECTION_OPTIONS.items():
        options.setdefault(setting, option)  # of a setting that has two options, the first
    values = {option: _text(getattr(config, setting)) for setting, option in options.items()}
    return {option: text for option, text in values.items() if text is not None}


def range_options(cuts: StreamCutRange) -> dict[str, str]:
    """The options of a read of one range."""
    return dict(zip(RANGE_OPTIONS, cuts.to_json().values(), strict=True))


def with_columns(options: Mapping[str, str], columns: str | None) -> dict[str, str]:
    """The options of a read, with the columns that a job names beside them; None or an empty text: none.

    Raises:
        ConfigurationError: the options name other columns.
    """
    named = next((text for name, text in options.items() if name.lower() == COLUMNS_OPTION and text), None)
    if columns and named and columns != named:
        raise ConfigurationError(f"the columns are {columns!r}, but {named!r} in the options: give them once")
    return {**options, COLUMNS_OPTION: columns} if columns and not named else dict(options)


def check_columns(options: Mapping[str, str]) -> None:
    """Check the columns that the options of a read name, before a session is started.

    Raises:
        ConfigurationError: they are not columns as SQL writes them.
    """
    from aiopravega.schema.arrow.sql_columns import columns_of

    for name, text in options.items():
        if name.lower() == COLUMNS_OPTION and text:
            columns_of(text)


def interval_options(since: str, until: str) -> dict[str, str]:
    """The options of a read that gives only the events with `since <= time < until`, times with their zones."""
    return dict(zip(INTERVAL_OPTIONS, (since, until), strict=False))


def _text(value: str | bool | int | SecretStr | None) -> str | None:
    match value:
        case SecretStr():
            return value.get_secret_value()
        case bool():
            return str(value).lower()
        case int():
            return str(value)
    return value

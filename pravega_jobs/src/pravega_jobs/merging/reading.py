"""Reads of changes for a merge: options and columns, the same for every scheduler. No server is asked."""

from collections.abc import Mapping
from typing import Final

from aiopravega.errors import ConfigurationError
from pravega_jobs.landing.table_kind import LandingTable
from pravega_jobs.landing.targets import forms_of, kind_of
from pravega_jobs.merging.rules import GHOST_COLUMNS, TIME_COLUMNS, MergeRules
from pravega_jobs.merging.state import merged_kinds
from pravega_jobs.spark.options import COLUMNS_OPTION, with_columns

# The columns about a change that a merge needs, and their types.
_ABOUT: Final = {"_change_type": "string", "_sequence": "binary", "_unchanged": "array<string>"}
_TELLING: Final = "_change_type"
_METADATA: Final = "metadata_columns"
_DECODE: Final = "decode"
_FORMATS: Final = ("debezium-json", "debezium-avro", "debezium-protobuf")


def merged_table(text: str) -> LandingTable:
    """The table that a text names, of a kind that takes merges and whose texts are no addresses of databases.

    Args:
        text: `delta:/folder` or `iceberg:catalog/namespace.table`.

    Raises:
        ConfigurationError: the text names no such table. The message repeats nothing that may be a password.
    """
    kind = kind_of(text)
    if kind is not None and kind.has_address:
        raise ConfigurationError(
            f"a table that begins with {text.partition(':')[0]!r} is not taken here, since an address may have a "
            f"password, and the scheduler shows the arguments of a job: give the connection or the resource that has "
            "the address (postgres_conn_id of Airflow, database_key of Dagster), and the table's name such as "
            "schema.table"
        )
    if kind is None or kind.merges is None:
        kinds = [each for each in merged_kinds() if not each.has_address]
        raise ConfigurationError(
            f"changes are merged into tables of {' and '.join(each.title for each in kinds)}: write {forms_of(kinds)}, "
            f"not a table that begins with {text.partition(':')[0]!r}"
        )
    return kind.parse(text)


def change_options(columns: str | None, given: Mapping[str, str], rules: MergeRules) -> dict[str, str]:
    """The options of a read of changes, which win over those that are given.

    Args:
        columns: of the source's table, as SQL writes them; None or empty, if the options name them, or the source finds
            them. The columns about the change are added, unless `_change_type` is among them.
        given: other options of the read; `decode` may be one of Debezium's formats.
        rules: the rules of the merge: to remove ghosts or to keep a history, it needs more columns.

    Raises:
        ConfigurationError: `decode` is not one of Debezium's formats, or columns are given twice.
    """
    small = {name.lower(): value for name, value in given.items()}
    form = small.get(_DECODE, _FORMATS[0])
    if form not in _FORMATS:
        raise ConfigurationError(f"changes are read with decode={', '.join(_FORMATS)}, not with decode={form}")
    found = {_DECODE: form, "changes": "upsert", "key": ",".join(rules.key)}
    named, about = with_columns(small, columns).get(COLUMNS_OPTION), _about(rules)
    if named:
        more = [] if _TELLING in named else [f"{name} {type_}" for name, type_ in about.items()]
        found[COLUMNS_OPTION] = ", ".join([named, *more])
    elif _METADATA not in small:
        found[_METADATA] = ",".join(about)
    return found


def _about(rules: MergeRules) -> dict[str, str]:
    return _ABOUT | (GHOST_COLUMNS if rules.removes_ghosts else {}) | (TIME_COLUMNS if rules.keeps_history else {})

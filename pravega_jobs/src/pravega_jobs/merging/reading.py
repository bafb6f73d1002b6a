"""How changes are read so that they can be merged: the same for every scheduler. Nothing is asked here."""

from collections.abc import Mapping, Sequence
from typing import Final

from aiopravega.errors import ConfigurationError
from pravega_jobs.landing.targets import LandingTable, table_of
from pravega_jobs.merging.rules import GHOST_COLUMNS, TIME_COLUMNS, Ghosts, History

_KINDS: Final = ("delta", "iceberg")
# What a merge needs to know of a change, and the types of these columns.
_ABOUT: Final = {"_change_type": "string", "_sequence": "binary", "_unchanged": "array<string>"}
_TELLING: Final = "_change_type"
_METADATA: Final = "metadata_columns"
_DECODE: Final = "decode"
_FORMATS: Final = ("debezium-json", "debezium-avro", "debezium-protobuf")


def merged_table(text: str) -> LandingTable:
    """The table of Delta or Iceberg that a text names.

    Args:
        text: `delta:/folder` or `iceberg:catalog/namespace.table`.

    Raises:
        ConfigurationError: it names no such table. The message repeats nothing that may be a password.
    """
    kind = text.partition(":")[0]
    if kind not in _KINDS:
        raise ConfigurationError(
            "changes are merged into tables of Delta and Iceberg: write delta:/folder or "
            f"iceberg:catalog/namespace.table, not a table that begins with {kind!r}"
        )
    return table_of(text)


def key_columns(given: Sequence[str] | str) -> list[str]:
    """The columns that identify a row; one may be given as a text.

    Raises:
        ConfigurationError: there is none, or one has no name.
    """
    key = [given] if isinstance(given, str) else list(given)
    if not key or not all(key):
        raise ConfigurationError(f"key must name the columns that identify a row, not {given!r}")
    return key


def change_columns(columns: str | None, ghosts: str = Ghosts.KEEP, history: str = History.NONE) -> str | None:
    """The columns of a read, as SQL writes them, with those about the change; None: the source finds them.

    Args:
        columns: of the source's table. If they name `_change_type`, they are taken as they are.
        ghosts: what the merge does with ghosts; to remove them, it needs more columns.
        history: what the merge keeps of a row that changes; to keep it, it needs more columns.
    """
    if not columns or _TELLING in columns:
        return columns or None
    return ", ".join([columns, *(f"{name} {type_}" for name, type_ in _about(ghosts, history).items())])


def change_options(
    key: Sequence[str],
    columns: str | None,
    given: Mapping[str, str],
    ghosts: str = Ghosts.KEEP,
    history: str = History.NONE,
) -> dict[str, str]:
    """The options of a read of changes, which win over those that are given.

    Args:
        key: the columns that identify a row.
        columns: of the source's table; None or empty, if the source finds them.
        given: other options of the read; `decode` may be one of Debezium's formats.
        ghosts: what the merge does with ghosts; to remove them, it needs more columns.
        history: what the merge keeps of a row that changes; to keep it, it needs more columns.

    Raises:
        ConfigurationError: the events are to be read as something else than change events.
    """
    small = {name.lower(): value for name, value in given.items()}
    form = small.get(_DECODE, _FORMATS[0])
    if form not in _FORMATS:
        raise ConfigurationError(f"changes are read with decode={', '.join(_FORMATS)}, not with decode={form}")
    found = {_DECODE: form, "changes": "upsert", "key": ",".join(key)}
    if not columns and _METADATA not in small:
        found[_METADATA] = ",".join(_about(ghosts, history))
    return found


def _about(ghosts: str, history: str) -> dict[str, str]:
    more = (GHOST_COLUMNS if ghosts == Ghosts.REMOVE else {}) | (TIME_COLUMNS if history == History.SCD2 else {})
    return _ABOUT | more

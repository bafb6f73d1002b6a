"""Merged tables as they are now: their targets of merges, and their columns and rows by what their formats note."""

from collections.abc import Callable
from typing import Any

from aiopravega.errors import ConfigurationError
from pravega_jobs.landing import targets as tables
from pravega_jobs.landing.table_kind import LandingTable, TableKind
from pravega_jobs.merging.rules import MergeRules
from pravega_jobs.merging.target import MergeTarget, TableState


def merged_kinds() -> list[TableKind]:
    """The kinds of tables that changes can be merged into."""
    return [kind for kind in tables.KINDS if kind.merges is not None]


def merge_target(table: LandingTable) -> MergeTarget:
    """A table as the target of merges.

    Raises:
        ConfigurationError: changes cannot be merged into tables of this kind.
    """
    return merges_of(table)(table)


def merges_of(table: LandingTable) -> Callable[[Any], MergeTarget]:
    """A function that makes the target of merges of a table. No server is asked.

    Raises:
        ConfigurationError: changes cannot be merged into tables of this kind.
    """
    kind = tables.kind_of_table(table)
    if kind is not None and kind.merges is not None:
        return kind.merges
    advice = f". {kind.merge_advice}" if kind is not None and kind.merge_advice else ""
    raise ConfigurationError(
        f"changes cannot be merged into a {type(table).__name__}: use {tables.forms_of(merged_kinds())}{advice}"
    )


def check_history(table: LandingTable, rules: MergeRules) -> None:
    """Check that tables of this kind keep versions of rows, if the rules want them. No server is asked.

    Raises:
        ConfigurationError: changes cannot be merged into them, or they keep no history.
    """
    merges_of(table)
    kind = tables.kind_of_table(table)
    if rules.keeps_history and kind is not None and not kind.keeps_history:
        able = " or ".join(each.title for each in merged_kinds() if each.keeps_history)
        raise ConfigurationError(
            f"tables of {kind.title} keep no history of their rows: leave out history='scd2', or merge into a table of "
            f"{able}, which can"
        )


def state_of(table: LandingTable) -> TableState | None:
    """The state of a table now; None: the table does not exist, or its kind takes no merges. No file of rows is read.

    The number of rows is not known if the table keeps rows that the database does not have (`_deleted`, or closed
    versions of a history), or if the format does not store a number.

    Raises:
        PravegaError: the table cannot be asked.
    """
    kind = tables.kind_of_table(table)
    return None if kind is None or kind.merges is None else kind.merges(table).state()

"""Rules of a merge: the choices of a caller, and the rules that a table keeps. No I/O."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Self

from aiopravega.errors import ConfigurationError, LedgerError
from pravega_jobs.landing.rules import MERGED, OWN_COLUMNS, Evolution, choice

# The columns of a merged table beside the source's: the position of a row's last change; with soft deletes, the mark
# of a delete.
SEQUENCE_COLUMN: Final = "_sequence"
DELETED_COLUMN: Final = "_deleted"
# The columns that a table with a history has, beside `_sequence`: the times between which a version was the row, the
# mark of the current version, and the position of the change that closed it.
FROM_COLUMN: Final = "_valid_from"
TO_COLUMN: Final = "_valid_to"
CURRENT_COLUMN: Final = "_current"
END_COLUMN: Final = "_end_sequence"
HISTORY_COLUMNS: Final = (FROM_COLUMN, TO_COLUMN, CURRENT_COLUMN, END_COLUMN)
_ADDED: Final = frozenset({*OWN_COLUMNS, SEQUENCE_COLUMN, DELETED_COLUMN, *HISTORY_COLUMNS})
# The column of changes that is needed to know when a version began, and its type.
TIME_COLUMNS: Final = {"_source_ts": "timestamp"}
# The columns of changes that are needed to find ghosts, beside `_sequence`, and their types.
GHOST_COLUMNS: Final = {"_op": "string", "_snapshot": "string", "_ingested_at": "timestamp"}


class Deletes(StrEnum):
    """The effect of a delete on a row."""

    HARD = "hard"
    SOFT = "soft"


class Unsent(StrEnum):
    """The treatment of an update that lacks values (TOAST), of a row that the table lacks."""

    FAIL = "fail"
    NULL = "null"


class Ghosts(StrEnum):
    """The treatment of ghosts: rows that a snapshot of the database lacks, although no delete of them is known."""

    KEEP = "keep"
    REMOVE = "remove"


class RowHistory(StrEnum):
    """The history of a row that changes: none, or every version (a slowly changing dimension, type 2)."""

    NONE = "none"
    SCD2 = "scd2"


def check_not_of_history(columns: Sequence[str]) -> None:
    """Refuse changes that have columns which a table with a history has of its own.

    Raises:
        ConfigurationError: they do.
    """
    taken = [name for name in HISTORY_COLUMNS if name in columns]
    if taken:
        raise ConfigurationError(
            f"the changes have {', '.join(taken)}, which history='scd2' adds itself: rename it before the merge"
        )


@dataclass(frozen=True, slots=True)
class TableRules:
    """Rules that are the same for all merges into one table; the table has them as a property."""

    key: tuple[str, ...]
    deletes: Deletes
    history: RowHistory = RowHistory.NONE
    order_by: tuple[str, ...] | None = None

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Read what `to_text` wrote.

        Raises:
            LedgerError: the text is damaged, or of another release.
        """
        try:
            found = json.loads(text)
            # Tables that were made before there was a history do not name it, and tables of changes have no order.
            history, order = RowHistory(found.get("history", RowHistory.NONE)), found.get("order_by")
            return cls(tuple(found["key"]), Deletes(found["deletes"]), history, None if order is None else tuple(order))
        except (ValueError, KeyError, TypeError) as error:
            raise LedgerError(f"the table's property {MERGED} is not of this release: {text!r}") from error

    def to_text(self) -> str:
        """The rules as one JSON object."""
        order = {} if self.order_by is None else {"order_by": self.order_by}
        return json.dumps({"key": self.key, "deletes": self.deletes.value, "history": self.history.value, **order})

    def __str__(self) -> str:
        order = "" if self.order_by is None else f", rows ordered by {', '.join(self.order_by) or 'nothing'}"
        return f"key {', '.join(self.key)}, {self.deletes} deletes, history {self.history}{order}"


@dataclass(frozen=True, slots=True)
class MergeRules:
    """Rules that a merge follows; `of` takes them as users write them.

    Args:
        key: the columns that identify a row.
        deletes: the effect of a delete on a row.
        new_columns: the treatment of columns that the table lacks.
        unsent: the treatment of an update that lacks values, of a row that the table lacks.
        ghosts: the treatment of rows that a later snapshot lacks.
        history: the versions of a row that stay.
        order_by: None: changes of a database are merged. For plain rows, the columns that order the rows of one key;
            none, if a range has each key once.
        delete_column: of plain rows, the column that is true in those that delete the row of their key.

    Raises:
        ConfigurationError: the key is empty or has a column twice, or `history` does not go with `deletes` or `ghosts`;
            or rules that only changes of a database have are given for plain rows, or the other way around.
    """

    key: tuple[str, ...]
    deletes: Deletes = Deletes.HARD
    new_columns: Evolution = Evolution.FAIL
    unsent: Unsent = Unsent.FAIL
    ghosts: Ghosts = Ghosts.KEEP
    history: RowHistory = RowHistory.NONE
    order_by: tuple[str, ...] | None = None
    delete_column: str | None = None

    def __post_init__(self) -> None:
        if not self.key or not all(self.key) or len(set(self.key)) < len(self.key):
            raise ConfigurationError(f"key must name the columns that identify a row, each once, not {self.key}")
        if self.keeps_history and self.keeps_deleted:
            raise ConfigurationError(
                "history='scd2' keeps the last version of a deleted row, closed: leave out deletes='soft'"
            )
        if self.keeps_history and self.removes_ghosts:
            raise ConfigurationError(
                "history='scd2' cannot remove ghosts, since no event says when they were deleted: leave out "
                "ghosts='remove', and close what pyspark_pravega.cdc.ghosts names yourself"
            )
        self._check_rows()

    def _check_rows(self) -> None:
        """Check the rules of plain rows."""
        if self.order_by is None:
            if self.delete_column is not None:
                raise ConfigurationError(
                    f"delete_column={self.delete_column!r} is for plain rows, and changes of a database say themselves "
                    "what is deleted: leave it out, or give order_by, the columns that order the rows of one key"
                )
            return
        if not all(self.order_by) or len(set(self.order_by)) < len(self.order_by):
            raise ConfigurationError(f"order_by must name columns, each once, not {self.order_by}")
        if self.delete_column is not None and self.delete_column in (*self.key, *self.order_by, ""):
            raise ConfigurationError(
                f"delete_column={self.delete_column!r} must be a column of its own, which is neither of the key nor of "
                "the order: the table does not get it"
            )
        given = {"history": self.history, "ghosts": self.ghosts, "unsent": self.unsent}
        usual = {"history": RowHistory.NONE, "ghosts": Ghosts.KEEP, "unsent": Unsent.FAIL}
        own = [f"{name}={text.value!r}" for name, text in given.items() if text is not usual[name]]
        if own:
            raise ConfigurationError(
                f"{', '.join(own)} needs changes of a database, and order_by says that plain rows are merged: leave "
                "out one of the two"
            )

    @classmethod
    def of(
        cls,
        key: Sequence[str] | str,
        *,
        deletes: str = Deletes.HARD,
        new_columns: str = Evolution.FAIL,
        unsent: str = Unsent.FAIL,
        ghosts: str = Ghosts.KEEP,
        history: str = RowHistory.NONE,
        order_by: Sequence[str] | str | None = None,
        delete_column: str | None = None,
    ) -> Self:
        """The rules that texts name; a key or an order of one column may be a text.

        Raises:
            ConfigurationError: a text is none of the choices of its rule, or the rules do not go together.
        """
        return cls(
            (key,) if isinstance(key, str) else tuple(key),
            choice(deletes, Deletes, "deletes"),
            choice(new_columns, Evolution, "new_columns"),
            choice(unsent, Unsent, "unsent"),
            choice(ghosts, Ghosts, "ghosts"),
            choice(history, RowHistory, "history"),
            (order_by,) if isinstance(order_by, str) else None if order_by is None else tuple(order_by),
            delete_column,
        )

    @classmethod
    def if_keyed(cls, key: Sequence[str] | str, new_columns: str, **named: Any) -> Self | None:
        """The rules of a merge if there is a key; None: there is none, and rows are landed.

        Args:
            key: as of `of`, or empty.
            new_columns: as of `of`; landings also have it.
            **named: other rules, as of `of`; None: not given.

        Raises:
            ConfigurationError: as of `of`; or there is no key, and a rule of merges is given.
        """
        given = {name: value for name, value in named.items() if value is not None}
        if key:
            return cls.of(key, new_columns=new_columns, **given)
        if given:
            raise ConfigurationError(
                f"{', '.join(given)} is a rule of merges, and there is no key, so that rows are landed: give key, the "
                "columns that identify a row, or leave the rule out"
            )
        return None

    @property
    def of_table(self) -> TableRules:
        """The rules that are the same for all merges into one table."""
        return TableRules(self.key, self.deletes, self.history, self.order_by)

    @property
    def needs_order(self) -> bool:
        """True if each range must lie after all ranges that the table holds, whatever columns the changes have."""
        return not self.keeps_deleted or self.removes_ghosts or self.order_by == ()

    @property
    def keeps_deleted(self) -> bool:
        """True if deleted rows stay, marked."""
        return self.deletes is Deletes.SOFT

    @property
    def keeps_history(self) -> bool:
        """True if every version of a row stays."""
        return self.history is RowHistory.SCD2

    @property
    def removes_ghosts(self) -> bool:
        """True if rows that a later snapshot lacks are removed."""
        return self.ghosts is Ghosts.REMOVE


def columns_of_stream(names: Iterable[str]) -> list[str]:
    """The columns of a table that are columns of its stream, if no function has changed the rows between the two.

    The others are those that landings and merges add.
    """
    return [name for name in names if name not in _ADDED]

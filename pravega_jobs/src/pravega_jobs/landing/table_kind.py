"""Kinds of tables: the entry by which jobs, schedulers and commands know all tables of one format or database."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from aiopravega.errors import ConfigurationError
from pravega_jobs.landing.growth import TableColumns
from pravega_jobs.landing.partition_by import Partitions
from pravega_jobs.landing.rows import Rows
from pravega_jobs.landing.rules import Holding, Landed, Landing, Standing

if TYPE_CHECKING:
    import pyarrow as pa

    from pravega_jobs.merging.target import MergeTarget
    from pravega_jobs.upkeep.rules import Backlog, UpkeepRules, Upkept


class LandingTable(Protocol):
    """A table that takes the rows of an interval once. What `staged` gives is of the table's own kind.

    Kinds derive from it, and get `holdings`, `held` and `is_target`.

    Attributes:
        refuses_nul: True if its texts must not have the character of code 0, also in a new table.
    """

    __slots__ = ()
    refuses_nul: ClassVar[bool] = False

    def location(self) -> str:
        """The location where the table is, or will be made, one text however it is spelled, without secrets."""
        ...

    def identity(self) -> str:
        """The identity of the table that stands there, without secrets; the location, if there is none yet.

        It changes when the table is dropped and made again, and stays when it is renamed.
        """
        ...

    def standing(self) -> AbstractContextManager[Standing]:
        """The table as it stands now."""
        ...

    def columns(self) -> TableColumns | None:
        """The columns of the table; None: it does not exist, or takes any columns."""
        ...

    def rows(self) -> dict[tuple[str, str], int] | None:
        """Numbers of rows by consumer and interval, counted in the table; None: its rows are of no interval."""
        ...

    def read(self, holding: Holding, columns: "pa.Schema") -> "Iterator[pa.RecordBatch]":
        """The rows of an interval that the table holds, batch by batch; `columns` are some of its columns."""
        ...

    def repair(self) -> None:
        """Bring back what a run that was killed has taken out of the table, and not replaced. Most kinds need none."""
        return

    def staged(self, rows: Rows, landing: Landing) -> AbstractContextManager[Any]:
        """Write the rows, so that readers of the table do not see them yet."""
        ...

    def commit(self, staged: Any, landing: Landing) -> Landed:
        """Show the staged rows in the table, unless it has them."""
        ...

    def holdings(self) -> list[Holding]:
        """The holdings of the table; none, if it does not exist.

        Raises:
            LedgerError: a note is damaged, or of another release.
            LandingError: the table cannot be asked.
        """
        with self.standing() as found:
            return [each for each in found.notes() if found.counts(each)]

    def held(self, landing: Landing) -> Holding | None:
        """The holding of the interval of a landing; None: the table does not have the interval.

        Raises:
            LedgerError: a note is damaged, or of another release.
            LandingError: the table cannot be asked, or its note of the interval is gone.
        """
        with self.standing() as found:
            note = found.note(landing)
            return note if note is not None and found.counts(note) else None

    def is_target(self, text: str) -> bool:
        """True if a text is the identity of this table, maybe from before it was made.

        Args:
            text: as `identity` gave it.
        """
        return text in (self.identity(), self.location())


@dataclass(frozen=True, slots=True)
class Library:
    """A library that tables of a kind need, and the extra of this package that installs it."""

    name: str
    extra: str

    def missing(self, tables: str) -> ConfigurationError:
        """The error of a table whose library is not installed; `tables` names the kind."""
        return ConfigurationError(f"{tables} need {self.name}: pip install 'pravega-jobs[{self.extra}]'")


@dataclass(frozen=True, slots=True)
class KindUpkeep:
    """The upkeep of tables of a kind.

    Args:
        keep_up: keeps a table up.
        backlog: counts the work that waits for the next upkeep, by the table's metadata.
    """

    keep_up: "Callable[[Any, UpkeepRules], Upkept]"
    backlog: "Callable[[Any, UpkeepRules], Backlog]"


@dataclass(frozen=True, slots=True)
class TableKind:
    """A kind of table; `landing.tables.KINDS` has one entry for each.

    Args:
        title: the name for people, such as `Delta`.
        words: the words before the first colon of a text that names such a table.
        form: the form of these texts, for messages.
        parse: makes a table from its text. It asks no server.
        table_class: the class of the tables.
        icon: the label that Dagster's pages have a picture for.
        library: the library that the tables need besides PyArrow.
        partitions: the partitions that landings into the tables can make and follow.
        names_folder: True if the text names a folder of files after its colon.
        has_address: True if the texts are addresses of databases, which may have a password.
        merges: makes the target of merges from a table; None: changes cannot be merged into it.
        keeps_history: True if merges into the tables can keep every version of a row.
        merge_advice: a sentence for those who want to merge changes into a table of a kind without `merges`.
        upkeep: the upkeep of its tables; None: the kind has no upkeep.
        upkeep_advice: a sentence for those who want to keep up a table of a kind without `upkeep`.
    """

    title: str
    words: tuple[str, ...]
    form: str
    parse: Callable[[str], LandingTable]
    table_class: type[Any]
    icon: str
    library: Library | None = None
    partitions: Partitions = Partitions.NONE
    names_folder: bool = False
    has_address: bool = False
    merges: "Callable[[Any], MergeTarget] | None" = None
    keeps_history: bool = False
    merge_advice: str = ""
    upkeep: KindUpkeep | None = None
    upkeep_advice: str = ""

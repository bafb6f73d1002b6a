"""Sinks of the errors of landings: the interface of errors tables and errors streams, and the errors tables.

A sink has errors under the consumer of their landing and a name of their own. It does not know which of them count:
`landing.errors` decides that.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Self

from pravega_jobs.landing.rules import Action, Holding, Landing, decide
from pravega_jobs.landing.table_kind import LandingTable

if TYPE_CHECKING:
    import pyarrow as pa

    from aiopravega.blocking import PravegaClient

DIGITS: Final = 16
# The names of errors: of the interval, the generation, digests of the table and of the errors.
NAME: Final = re.compile(
    rf"(?P<interval>.*) errors (?P<generation>\d+)-(?P<table>[0-9a-f]{{{DIGITS}}})-[0-9a-f]{{{DIGITS}}}", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class StoredErrors:
    """Errors that a sink has under one name.

    Args:
        consumer: the consumer of their landing.
        name: the name: the interval of the errors themselves.
        rows: the errors that were put there.
        found: the errors that are there.
        holding: a table's own note of them; a stream has none.
    """

    consumer: str
    name: str
    rows: int
    found: int
    holding: Holding | None = None


class ErrorsSink(ABC):
    """A sink that takes the errors of landings, each landing's once."""

    __slots__ = ()

    @abstractmethod
    def location(self) -> str:
        """The location, one text however it is spelled, without secrets."""

    @abstractmethod
    def with_client(self, client: "PravegaClient") -> "ErrorsSink":
        """The same sink, reached by a client where it has none of its own and needs one."""

    @abstractmethod
    def check(self, landing: Landing) -> None:
        """Check that errors of a landing can go there, before any row is read.

        Raises:
            ConfigurationError: they cannot.
            PravegaError: the sink is missing, or cannot be asked.
        """

    @abstractmethod
    def put(self, rows: "pa.Table", landing: Landing) -> None:
        """Put errors there, unless they are there.

        Args:
            rows: the errors, with the columns of an errors table.
            landing: the landing of the errors themselves. Two of one name have the same events.

        Raises:
            LandingError: the sink must not take them, or cannot.
        """

    @abstractmethod
    def count(self, landing: Landing) -> int:
        """The number of errors that are there of a landing of errors."""

    @abstractmethod
    def all(self) -> list[StoredErrors]:
        """All errors that are there, also those that do not count."""

    @abstractmethod
    def read(self, errors: StoredErrors) -> "Iterator[pa.RecordBatch]":
        """Errors batch by batch, with the columns of an errors table."""

    @abstractmethod
    def take_out(self, is_other: Callable[[Holding], bool]) -> None:
        """Take out the errors whose notes a function is true of, if the sink can."""


@dataclass(frozen=True, slots=True)
class ErrorsTable(ErrorsSink):
    """An errors table, of any kind: errors are landed in it."""

    table: LandingTable

    def location(self) -> str:
        """The location of the table."""
        return self.table.location()

    def with_client(self, client: "PravegaClient") -> Self:
        """The same sink: a table needs no client."""
        del client
        return self

    def check(self, landing: Landing) -> None:
        """Nothing: a table is made when it gets its first error."""

    def put(self, rows: "pa.Table", landing: Landing) -> None:
        """Land errors, unless the table has them."""
        one = landing
        with self.table.standing() as found:
            note = found.note(one)
            if note is not None and found.counts(note):
                there = note.rows == rows.num_rows == found.rows_of(one)
                # Taken out by a run that found others, or by a person.
                one = replace(one, generation=note.generation if there else note.generation + 1)
            action, _ = decide(found, one)
        if action is not Action.NOTHING:
            self._land(rows, one)

    def count(self, landing: Landing) -> int:
        """The number of errors that the table has of a landing of errors."""
        with self.table.standing() as found:
            note = found.note(landing)
            return found.rows_of(landing) if note is not None and found.counts(note) else 0

    def all(self) -> list[StoredErrors]:
        """All errors of the table, by its notes."""
        held, rows = self.table.holdings(), self.table.rows() or {}
        return [
            StoredErrors(each.consumer, each.interval, each.rows, rows.get((each.consumer, each.interval), 0), each)
            for each in held
        ]

    def read(self, errors: StoredErrors) -> "Iterator[pa.RecordBatch]":
        """Errors batch by batch."""
        from pravega_jobs.error_rows import TABLE_COLUMNS

        assert errors.holding is not None
        yield from self.table.read(errors.holding, TABLE_COLUMNS)

    def take_out(self, is_other: Callable[[Holding], bool]) -> None:
        """Replace errors by none, as newer generations of their landings."""
        from pravega_jobs.error_rows import TABLE_COLUMNS

        for each in self.table.holdings():
            if each.rows and is_other(each):
                gone = Landing(each.identity, each.range, each.generation + 1, of_times=True)
                self._land(TABLE_COLUMNS.empty_table(), gone)

    def _land(self, rows: "pa.Table", landing: Landing) -> None:
        from pravega_jobs.landing.local_rows import LocalRows

        with self.table.staged(LocalRows(rows), landing) as staged:
            self.table.commit(staged, landing)

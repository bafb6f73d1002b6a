"""The table of a task with a frame: it gets the rows of the task once, landed or merged by their key."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self

from aiopravega.errors import ConfigurationError
from pravega_jobs.landing import LandingTable, land
from pravega_jobs.landing.land import landing_of
from pravega_jobs.landing.rules import Landing
from pravega_jobs.landing.store_access import StoreAccess, accessing
from pravega_jobs.merging import MergeRules, merge_changes


@dataclass(frozen=True, slots=True)
class FrameTable:
    """A table that gets rows once for the interval of a range.

    Args:
        name: as an argument of the operator names it.
        table: with the secrets of its connection.
        access: to its object store; None: libraries find it by themselves.
        cuts: the range, with its consumer and its interval.
        landing: the interval, the generation and the partitions.
        new_columns: the treatment of columns that the table lacks.
        partition_by: the partitions of a table that is new.
        rules: the rules of a merge; None: rows are landed.
    """

    name: str
    table: LandingTable
    access: StoreAccess | None
    cuts: Mapping[str, str]
    landing: Landing
    new_columns: str
    partition_by: Sequence[str]
    rules: MergeRules | None

    @classmethod
    def of(
        cls,
        name: str,
        table: LandingTable,
        access: StoreAccess | None,
        cuts: Mapping[str, str],
        *,
        generation: int,
        new_columns: str,
        partition_by: Sequence[str],
        rules: MergeRules | None,
    ) -> Self:
        """The table for a range, before anything is read.

        Raises:
            ConfigurationError: the range names no consumer and interval, the table cannot have the partitions, or
                merged rows are to be replaced.
        """
        if rules is not None and generation != 1:
            raise ConfigurationError(
                f"rebuild={generation}: merged rows cannot be taken out of a table. Merge all ranges into a new table, "
                "by a new consumer"
            )
        landing = landing_of(cuts, generation=generation, new_columns=new_columns, partition_by=partition_by)
        return cls(name, table, access, cuts, landing, new_columns, partition_by, rules)

    @property
    def kind(self) -> Literal["landing", "merge"]:
        """The kind of the sink of a claim."""
        return "landing" if self.rules is None else "merge"

    @property
    def generation(self) -> int:
        """The generation of the rows."""
        return self.landing.generation

    def put(self, made: Any) -> dict[str, Any]:
        """Land or merge rows; returns the facts for the result of the task.

        Raises:
            ConfigurationError: a column cannot work.
            LandingError: the table must not take the rows, or cannot.
        """
        began = time.monotonic()
        with accessing(self.access):
            facts = self._landed(made) if self.rules is None else self._merged(made, self.rules)
        return {"table": self.name, **facts, "seconds": round(time.monotonic() - began, 3)}

    def _landed(self, made: Any) -> dict[str, Any]:
        done = land(
            made,
            self.table,
            self.cuts,
            generation=self.generation,
            new_columns=self.new_columns,
            partition_by=self.partition_by,
        )
        return {"action": done.action.value, "rows": done.holding.rows, "generation": done.holding.generation}

    def _merged(self, made: Any, rules: MergeRules) -> dict[str, Any]:
        done = merge_changes(made, self.table, self.landing, rules)
        return {"action": done.action.value, "changes": done.holding.rows, **asdict(done.counts)}


def plain_rules(
    key: Sequence[str],
    order_by: Sequence[str] | None,
    delete_column: str | None,
    deletes: str | None,
    new_columns: str,
) -> MergeRules | None:
    """The rules of a merge of plain rows; None: there is no key, and rows are landed.

    Raises:
        ConfigurationError: rules do not go together, or the order is missing.
    """
    if key and order_by is None:
        raise ConfigurationError(
            f"key={key!r} merges the rows that the task makes, and needs order_by: the columns that order the rows of "
            "one key, or () if there is one of each. Changes of a database are merged by PravegaKeepTableOperator"
        )
    return MergeRules.if_keyed(key, new_columns, order_by=order_by, delete_column=delete_column, deletes=deletes)

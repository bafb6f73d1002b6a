"""The table of a task with a frame: it gets the rows of the task once, landed or merged by their key."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self

from aiopravega.blocking import PravegaClient
from aiopravega.errors import ConfigurationError
from airflow_pravega.connections.tables import check_errors_sink
from airflow_pravega.tasks.arguments import check_known
from pravega_jobs.landing import LandingTable, land
from pravega_jobs.landing.error_sinks import ErrorsSink
from pravega_jobs.landing.errors import check_write_errors
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
        errors: the sink of rows with an error; None: there are none.
        most_errors: the most errors.
    """

    name: str
    table: LandingTable
    access: StoreAccess | None
    cuts: Mapping[str, str]
    landing: Landing
    new_columns: str
    partition_by: Sequence[str]
    rules: MergeRules | None
    errors: ErrorsSink | None = None
    most_errors: int | str | None = None

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
        errors: ErrorsSink | None = None,
        most_errors: int | str | None = None,
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
        return cls(name, table, access, cuts, landing, new_columns, partition_by, rules, errors, most_errors)

    @property
    def kind(self) -> Literal["landing", "merge"]:
        """The kind of the sink of a claim."""
        return "landing" if self.rules is None else "merge"

    @property
    def generation(self) -> int:
        """The generation of the rows."""
        return self.landing.generation

    def put(self, made: Any, client: PravegaClient | None = None) -> dict[str, Any]:
        """Land or merge rows; returns the facts for the result of the task. `client` reaches an errors stream.

        Raises:
            ConfigurationError: a column cannot work.
            LandingError: the table must not take the rows, or cannot.
        """
        began = time.monotonic()
        with accessing(self.access):
            facts = self._landed(made, client) if self.rules is None else self._merged(made, self.rules)
        return {"table": self.name, **facts, "seconds": round(time.monotonic() - began, 3)}

    def _landed(self, made: Any, client: PravegaClient | None) -> dict[str, Any]:
        done = land(
            made,
            self.table,
            self.cuts,
            generation=self.generation,
            new_columns=self.new_columns,
            partition_by=self.partition_by,
            errors=self.errors if self.errors is None or client is None else self.errors.with_client(client),
            most_errors=self.most_errors,
        )
        held = done.holding
        facts = {"action": done.action.value, "rows": held.rows, "generation": held.generation}
        return facts if self.errors is None else {**facts, "errors": 0 if held.errors is None else held.errors.rows}

    def _merged(self, made: Any, rules: MergeRules) -> dict[str, Any]:
        done = merge_changes(made, self.table, self.landing, rules)
        return {"action": done.action.value, "changes": done.holding.rows, **asdict(done.counts)}


def check_result_errors(
    errors: str,
    into: str | Sequence[str] | None,
    table: str | None,
    key: Sequence[str],
    conn_ids: tuple[str | None, str | None, str | None],
) -> None:
    """Check the name of the sink of errors of a task's result when the operator is made; no connection is read.

    Args:
        errors: the sink, as an argument of the operator names it.
        into: the stream of the result.
        table: the table of the result.
        key: the key of a merge.
        conn_ids: of the connections to PostgreSQL, to a catalog of Iceberg, and to AWS.

    Raises:
        ConfigurationError: errors cannot go there.
    """
    if into is None and table is None:
        raise ConfigurationError(f"errors={errors!r} are decided with other rows: say where these go, by into or table")
    if key:
        raise ConfigurationError(f"errors={errors!r} are of rows that are landed, and key merges them: leave one out")
    if table is not None:
        check_known(errors, lambda text: check_errors_sink(text, *conn_ids))
    else:
        check_known(errors, check_write_errors)


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

"""Tables from changes without Spark: the last change of each key, or all of them in order, by DuckDB in this process.

DuckDB keeps the changes within 1 GB of memory; the rest of them goes to a temporary folder. What each value is taken
from is the rule of `change_frames`, which says the same for Spark. Of two changes at one position, the later event
wins.
"""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aiopravega.errors import ConfigurationError, LandingError, PravegaError
from pravega_jobs.debezium.changes.metadata import CHANGE_TYPE, SEQUENCE, TYPES, UNCHANGED
from pravega_jobs.error_rows import KEPT
from pravega_jobs.landing.rules import choice
from pravega_jobs.merging.local_plain_rows import changes_of_rows
from pravega_jobs.merging.local_snapshots import LocalSnapshot, newest_snapshot
from pravega_jobs.merging.plain_rows import tied
from pravega_jobs.merging.rules import TIME_COLUMNS, Ghosts, MergeRules, check_not_of_history
from pravega_jobs.tables import batches_of, check_sql_names, check_table, need

if TYPE_CHECKING:
    import duckdb

_ABOUT: Final = frozenset((*TYPES, *KEPT))
_ORDER: Final = "_order of events"
_CHANGES: Final = "changes"
_ROWS: Final = 64 * 1024
_MEMORY: Final = "1GB"
_TOO_MANY: Final = (
    f"the changes need more than {_MEMORY} of memory and the room of {{folder}}, where the rest of them goes: take "
    "smaller ranges, have TMPDIR name a folder with more room, or let Spark merge them. Nothing was changed"
)
_EMPTIED: Final = (
    "the range has a truncate, which no merge can follow: empty the target and merge what comes after it, or read with "
    "truncates=drop"
)


@dataclass(frozen=True, slots=True)
class LocalChanges:
    """Changes for a merge, and the position of the newest snapshot that has ended among them; None: there is none."""

    rows: pa.RecordBatchReader
    snapshot: bytes | None = None


@contextmanager
def current_rows(
    changes: Any, key: Sequence[str], *, ghosts: Ghosts | str = Ghosts.KEEP
) -> Iterator[pa.RecordBatchReader]:
    """The table as it is after all of some changes, while a block reads it: the last change of each key.

    Deleted rows are gone.

    Args:
        changes: of one table, read from its snapshot on: a table or record batches with the columns `_change_type`,
            `_sequence` and, for PostgreSQL, `_unchanged`, as `read_arrow` gives them with `changes=upsert`.
        key: the columns that identify a row.
        ghosts: the treatment of rows that the newest snapshot does not have, and that have not changed since: `keep`
            them, or `remove` them, which is right if snapshots have all rows of the table. `remove` also needs the
            columns `_op`, `_snapshot` and `_ingested_at`.

    Raises:
        ConfigurationError: a column is missing, the changes are not a table, or DuckDB is not installed; or ghosts are
            to be removed, and the changes do not tell which they are.
        LandingError: there is too little memory and room on disk for the changes.
    """
    removes = choice(ghosts, Ghosts, "ghosts") is Ghosts.REMOVE
    with _stored(changes, key) as (database, names):
        found = _CHANGES
        if removes:
            found = LocalSnapshot.newest(newest_snapshot(database, _CHANGES, names)).applied(_CHANGES)
        emptied = f"(select max({_named(SEQUENCE)}) from {found} where {_named(CHANGE_TYPE)} = 'truncate')"
        left = (
            f"select * from {found} where {_named(CHANGE_TYPE)} is distinct from 'truncate' "
            f"and ({emptied} is null or {_named(SEQUENCE)} > {emptied})"
        )
        kept = ", ".join(_named(name) for name in names if name not in _ABOUT or name == UNCHANGED)
        last = _last(database, f"({left})", key, names)
        query = f"select {kept} from ({last}) where {_named(CHANGE_TYPE)} <> 'delete'"
        yield database.sql(query).to_arrow_reader(_ROWS)


@contextmanager
def changes_to_merge(changes: Any, rules: MergeRules) -> Iterator[LocalChanges]:
    """Changes as a merge takes them, with deletes, while a block reads them.

    They are the last change of each key; with a history all changes, by key and position. If ghosts are removed, those
    that are older than the newest whole snapshot are left out.

    Args:
        changes: as for `current_rows`, of a range, with the columns that the rules need; plain rows, if the rules have
            their order.
        rules: the rules of the merge.

    Raises:
        ConfigurationError: as `current_rows`, or the range has a truncate, or the source has a column that a history
            adds; or a column of plain rows is of another type, or has a name that it must not have.
        LandingError: plain rows lack a value of their key, order or delete, or the order does not tell two rows of a
            key apart; or as `current_rows`.
    """
    if rules.order_by is not None:
        check_table(changes)
        changes = changes_of_rows(changes, rules)
    with _stored(changes, rules.key, tuple(TIME_COLUMNS) if rules.keeps_history else ()) as (database, names):
        if rules.keeps_history:
            check_not_of_history(names)
        if rules.order_by is not None:
            _check_not_tied(database, rules)
        found = newest_snapshot(database, _CHANGES, names, whole=True) if rules.removes_ghosts else None
        snapshot = found if found is not None and found.ended else None
        left = _CHANGES if snapshot is None else snapshot.applied(_CHANGES)
        if database.sql(f"select 1 from {left} where {_named(CHANGE_TYPE)} = 'truncate' limit 1").fetchall():
            raise ConfigurationError(_EMPTIED)
        query = _in_order(left, rules.key, names) if rules.keeps_history else _last(database, left, rules.key, names)
        query = query if snapshot is None else snapshot.plain(query)
        position = None if snapshot is None else snapshot.position
        yield LocalChanges(database.sql(query).to_arrow_reader(_ROWS), position)


@contextmanager
def _stored(
    changes: Any, key: Sequence[str], more: Sequence[str] = ()
) -> "Iterator[tuple[duckdb.DuckDBPyConnection, list[str]]]":
    """The changes in a database, numbered in their order, and the names of their columns."""
    need("duckdb")
    check_table(changes)
    import duckdb

    rows = batches_of(changes)
    names = list(rows.schema.names)
    lacking = [name for name in (*key, CHANGE_TYPE, SEQUENCE, *more) if name not in names]
    if not key:
        raise ConfigurationError("a table from changes needs the columns of its key")
    if lacking:
        raise ConfigurationError(
            f"the changes have no column {', '.join(lacking)}: read them with decode=debezium-json, and ask for it "
            "with option 'metadata_columns'; to merge plain rows, give order_by"
        )
    check_sql_names(names, "the table of the changes")
    with tempfile.TemporaryDirectory(prefix="pravega-changes-") as folder:
        # One thread, so that the changes are read where the caller is. The numbers say their order.
        config: dict[str, Any] = {
            "temp_directory": folder,
            "threads": 1,
            "memory_limit": _MEMORY,
            "preserve_insertion_order": False,
        }
        with duckdb.connect(config=config) as database:
            database.execute("SET TimeZone = 'UTC'")
            failures: list[PravegaError] = []
            database.register("given", _numbered(rows, failures))
            try:
                database.execute(f"create table {_CHANGES} as from given")
                yield database, names
            except duckdb.OutOfMemoryException as error:
                raise LandingError(_TOO_MANY.format(folder=Path(folder).parent)) from error
            except duckdb.Error as error:
                raise failures[0] if failures else error from None


def _check_not_tied(database: "duckdb.DuckDBPyConnection", rules: MergeRules) -> None:
    """Refuse two plain rows of a key at one position."""
    key = ", ".join(map(_named, rules.key))
    tie = database.sql(f"select {key} from {_CHANGES} group by {key}, {SEQUENCE} having count(*) > 1 limit 1")
    for row in tie.fetchall():
        raise tied(rules, str(dict(zip(rules.key, row, strict=True))))


def _numbered(rows: pa.RecordBatchReader, failures: list[PravegaError]) -> pa.RecordBatchReader:
    """The changes without rows as they were before an update, with their number in the order of events.

    An error of the read is also put into `failures`: of errors that go through it, DuckDB keeps the texts only.
    """
    schema = rows.schema.append(pa.field(_ORDER, pa.int64()))

    def batches() -> Iterator[pa.RecordBatch]:
        seen = 0
        try:
            for batch in rows:
                numbers = pa.array(np.arange(seen, seen + batch.num_rows, dtype=np.int64))
                seen += batch.num_rows
                whole = pa.RecordBatch.from_arrays([*batch.columns, numbers], schema=schema)
                yield whole.filter(pc.fill_null(pc.not_equal(batch.column(CHANGE_TYPE), "update_preimage"), True))
        except PravegaError as error:
            failures.append(error)
            raise

    return pa.RecordBatchReader.from_batches(schema, batches())


def _last(database: "duckdb.DuckDBPyConnection", changes: str, key: Sequence[str], names: Sequence[str]) -> str:
    """The query for one row of each key: of each column the last value that was sent.

    Numbers of changes are what is grouped: the one of the last change of a key, and of the last one that sent a column.
    """
    sent = _sometimes_unsent(database, changes, key, names)
    latest = f"arg_max({_named(_ORDER)}, ({_named(SEQUENCE)}, {_named(_ORDER)}))"
    numbers = [f"{latest} as last"]
    joined = [f"{changes} as whole on whole.{_named(_ORDER)} = winners.last"]
    for name, (number, part) in sent.items():
        unsent = f"list_contains({_named(UNCHANGED)}, {_text(name)})"
        numbers.append(f"{latest} filter (where {unsent} is not true) as {number}")
        column = f"(select {_named(_ORDER)}, {_named(name)} from {changes})"
        joined.append(f"{column} as {part} on {part}.{_named(_ORDER)} = winners.{number}")
    selected: list[str] = []
    for name in names:
        if name == UNCHANGED:
            never = ", ".join(
                f"case when winners.{number} is null then {_text(each)} end" for each, (number, _) in sent.items()
            )
            listed = f"list_filter([{never}], lambda one: one is not null)" if never else "[]"
            selected.append(f"cast({listed} as varchar[]) as {_named(name)}")
        else:
            selected.append(f"{sent[name][1] if name in sent else 'whole'}.{_named(name)}")
    grouped = f"(select {', '.join(numbers)} from {changes} group by {', '.join(map(_named, key))})"
    return f"select {', '.join(selected)} from {grouped} as winners join {' left join '.join(joined)}"


def _sometimes_unsent(
    database: "duckdb.DuckDBPyConnection", changes: str, key: Sequence[str], names: Sequence[str]
) -> dict[str, tuple[str, str]]:
    """The columns that some change has not sent, each with two names for a query: of a number, and of its change."""
    if UNCHANGED not in names:
        return {}
    found = {name for (name,) in database.sql(f"select distinct unnest({_named(UNCHANGED)}) from {changes}").fetchall()}
    columns = [name for name in names if name in found and name not in _ABOUT and name not in key]
    return {name: (f"last_{number}", f"part_{number}") for number, name in enumerate(columns)}


def _in_order(changes: str, key: Sequence[str], names: Sequence[str]) -> str:
    """The query for all changes, by key and position. The last one at a position wins: see `change_frames`."""
    order = [f"{_named(name)} nulls first" for name in (*key, SEQUENCE, CHANGE_TYPE)]
    order += [*(f"{_named(name)} desc nulls last" for name in TIME_COLUMNS), _named(_ORDER)]
    return f"select {', '.join(map(_named, names))} from {changes} order by {', '.join(order)}"


def _named(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(name: str) -> str:
    return "'" + name.replace("'", "''") + "'"

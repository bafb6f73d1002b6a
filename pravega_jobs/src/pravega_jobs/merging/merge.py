"""Merge the changes of a range into a table: nothing is run if the table holds the range, and it decides again."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from aiopravega.cuts import StreamCutRange
from aiopravega.errors import ConfigurationError
from pravega_jobs.landing.delta import DeltaFolder
from pravega_jobs.landing.iceberg import Iceberg
from pravega_jobs.landing.land import landing_of
from pravega_jobs.landing.rules import Action
from pravega_jobs.landing.staged_files import write_files
from pravega_jobs.landing.targets import LandingTable, table_of
from pravega_jobs.merging.rules import (
    Deletes,
    Evolution,
    Ghosts,
    History,
    Merge,
    Merged,
    Settings,
    Unsent,
    check_history,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from pravega_jobs.merging.engine.delta import DeltaMerges
    from pravega_jobs.merging.engine.iceberg import IcebergMerges

Choice = TypeVar("Choice", Deletes, Evolution, Unsent, Ghosts, History)


def merge_into(
    changes: "DataFrame",
    table: LandingTable | str,
    cuts: StreamCutRange | Mapping[str, str],
    *,
    key: Sequence[str],
    consumer: str | None = None,
    interval: str | None = None,
    deletes: Deletes | str = Deletes.HARD,
    new_columns: Evolution | str = Evolution.FAIL,
    unsent: Unsent | str = Unsent.FAIL,
    ghosts: Ghosts | str = Ghosts.KEEP,
    history: History | str = History.NONE,
) -> Merged:
    """Merge the changes of a range into a table of Delta or Iceberg, once.

    The table has the columns of the source, and `_sequence`: the position of the last change of a row. A change that is
    not newer than its row does nothing. If the table holds this range of the interval, nothing is run.

    Args:
        changes: of one table, all of the range and nothing else, with `changes=upsert` and the columns `_change_type`,
            `_sequence` and, for PostgreSQL, `_unchanged`.
        table: `delta:/folder` or `iceberg:catalog/namespace.table`, or what `table_of` gives for them.
        cuts: the range; a mapping such as a sensor gives, with `start`, `end`, and maybe `consumer` and `interval`.
        key: the columns that identify a row; the same for all merges into the table.
        consumer: who takes the stream; by default as in `cuts`.
        interval: the name of the interval; by default as in `cuts`.
        deletes: `hard` removes a deleted row. `soft` keeps it with its last values, and `_deleted`. The same for all
            merges into the table.
        new_columns: what to do with columns that the table lacks: `fail`, `ignore` them, or `add` them.
        unsent: what to do with an update that lacks values (TOAST), of a row that the table lacks: `fail`, or `null`.
        ghosts: what to do with rows that are older than a snapshot whose end is in the range, and not in it: `keep`
            them, or `remove` them, which is right if snapshots have all rows of the table. `remove` needs the columns
            `_op`, `_snapshot` and `_ingested_at` too, and ranges in their order, and it runs a job that finds the
            snapshot.
        history: `scd2` keeps every version of a row, in a table that has `_valid_from`, `_valid_to`, `_current` and
            `_end_sequence`, too. It needs the column `_source_ts`, and ranges in their order. The same for all merges
            into the table.

    Returns:
        What the table holds of the interval, and what happened to the changes.

    Raises:
        ConfigurationError: something is not given, or does not go with `history`, or the text names no table that can
            be merged into.
        LandingError: the table must not take the changes, or cannot.
    """
    from pravega_jobs.debezium.changes.metadata import UNCHANGED
    from pravega_jobs.merging.change_frames import all_changes, last_changes
    from pravega_jobs.merging.snapshot_frames import newest_whole_snapshot

    named = {} if isinstance(cuts, StreamCutRange) else cuts
    merge = Merge(
        landing_of(
            cuts if isinstance(cuts, StreamCutRange) else StreamCutRange.from_json(cuts),
            consumer or named.get("consumer"),
            interval or named.get("interval"),
        ),
        Settings(tuple(key), choice(deletes, Deletes, "deletes"), choice(history, History, "history")),
        choice(new_columns, Evolution, "new_columns"),
        choice(unsent, Unsent, "unsent"),
    )
    removes = choice(ghosts, Ghosts, "ghosts") is Ghosts.REMOVE
    check_history(history, deletes, ghosts)
    target = _target(table_of(table) if isinstance(table, str) else table)
    in_order = not merge.keeps_deleted or UNCHANGED in changes.columns or removes
    held = target.decide(merge, in_order=in_order)
    if held is not None:
        return Merged(Action.NOTHING, held)
    snapshot = newest_whole_snapshot(changes) if removes else None
    if snapshot is None:
        reduced = (all_changes if merge.keeps_history else last_changes)(changes, key)
    else:
        merge = replace(merge, snapshot=snapshot.position)
        reduced = snapshot.plain(last_changes(snapshot.applied(changes), key))
    # Not of the changes themselves: who counts them, counts those of the first action.
    columns = reduced.sparkSession.createDataFrame([], reduced.schema).toArrow().schema
    with target.staging(columns, merge) as folder:
        return target.commit(write_files(reduced, merge.landing, folder, {}), merge, in_order=in_order)


def _target(table: LandingTable) -> "DeltaMerges | IcebergMerges":
    from pravega_jobs.merging.engine.delta import DeltaMerges
    from pravega_jobs.merging.engine.iceberg import IcebergMerges

    if isinstance(table, DeltaFolder):
        return DeltaMerges(table)
    if isinstance(table, Iceberg):
        return IcebergMerges(table)
    raise ConfigurationError(
        f"changes cannot be merged into a {type(table).__name__}: use delta:/folder or "
        "iceberg:catalog/namespace.table. A folder of Parquet files cannot replace rows; for PostgreSQL, "
        "land the changes and apply them there"
    )


def choice(given: Choice | str, choices: type[Choice], name: str) -> Choice:
    """One of the values that an argument can have.

    Raises:
        ConfigurationError: it is none of them.
    """
    try:
        return choices(given)
    except ValueError:
        raise ConfigurationError(f"{name} is {', '.join(choices)}, not {given!r}") from None

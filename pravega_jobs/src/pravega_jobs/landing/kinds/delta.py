"""The kind of tables that are Delta tables, in a folder or in an object store."""

from typing import TYPE_CHECKING, Final

from pravega_jobs.landing.delta import DeltaFolder
from pravega_jobs.landing.delta_holdings import DELTALAKE
from pravega_jobs.landing.partition_by import Partitions
from pravega_jobs.landing.table_kind import KindUpkeep, TableKind

if TYPE_CHECKING:
    from pravega_jobs.merging.target import MergeTarget
    from pravega_jobs.upkeep.rules import Backlog, UpkeepRules, Upkept


def _target(table: DeltaFolder) -> "MergeTarget":
    from pravega_jobs.merging.engine.delta import DeltaMerges

    return DeltaMerges(table)


def _upkeep(table: DeltaFolder, rules: "UpkeepRules") -> "Upkept":
    from pravega_jobs.upkeep.delta import keep_up

    return keep_up(table, rules)


def _backlog(table: DeltaFolder, rules: "UpkeepRules") -> "Backlog":
    from pravega_jobs.upkeep.delta import backlog

    return backlog(table, rules)


KIND: Final = TableKind(
    title="Delta",
    words=("delta",),
    form="delta:/folder",
    parse=lambda text: DeltaFolder(text.partition(":")[2]),
    table_class=DeltaFolder,
    icon="deltalake",
    library=DELTALAKE,
    partitions=Partitions.COLUMNS,
    names_folder=True,
    merges=_target,
    keeps_history=True,
    upkeep=KindUpkeep(_upkeep, _backlog),
)

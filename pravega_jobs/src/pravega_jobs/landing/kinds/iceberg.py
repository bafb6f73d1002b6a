"""The kind of tables that a catalog of Iceberg has."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from aiopravega.errors import ConfigurationError
from pravega_jobs.landing.iceberg import PYICEBERG, Iceberg
from pravega_jobs.landing.partition_by import Partitions
from pravega_jobs.landing.table_kind import KindUpkeep, TableKind

if TYPE_CHECKING:
    from pravega_jobs.merging.target import MergeTarget
    from pravega_jobs.upkeep.rules import Backlog, UpkeepRules, Upkept


def _table(text: str) -> Iceberg:
    catalog, slash, identifier = text.partition(":")[2].partition("/")
    if not slash or not catalog:
        raise ConfigurationError("a table of Iceberg is named with its catalog: iceberg:catalog/namespace.table")
    return Iceberg(identifier, catalog)


@contextmanager
def _with_pyiceberg() -> Iterator[None]:
    try:
        yield
    except ImportError:
        raise PYICEBERG.missing("tables of Iceberg") from None


def _target(table: Iceberg) -> "MergeTarget":
    with _with_pyiceberg():
        from pravega_jobs.merging.engine.iceberg import IcebergMerges
    return IcebergMerges(table)


def _upkeep(table: Iceberg, rules: "UpkeepRules") -> "Upkept":
    with _with_pyiceberg():
        from pravega_jobs.upkeep.iceberg import keep_up
    return keep_up(table, rules)


def _backlog(table: Iceberg, rules: "UpkeepRules") -> "Backlog":
    with _with_pyiceberg():
        from pravega_jobs.upkeep.iceberg import backlog
    return backlog(table, rules)


KIND: Final = TableKind(
    title="Iceberg",
    words=("iceberg",),
    form="iceberg:catalog/namespace.table",
    parse=_table,
    table_class=Iceberg,
    icon="iceberg",
    library=PYICEBERG,
    partitions=Partitions.FUNCTIONS,
    merges=_target,
    keeps_history=True,
    upkeep=KindUpkeep(_upkeep, _backlog),
)

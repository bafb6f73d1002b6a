"""Upkeep of an Iceberg table: small files put together, snapshots expired, files removed, and commits decide."""

from typing import TYPE_CHECKING, Final

from aiopravega.errors import ConfigurationError
from pravega_jobs.landing.iceberg import Iceberg
from pravega_jobs.landing.iceberg_files import location_of
from pravega_jobs.landing.locations import StoreLocation, store_answers
from pravega_jobs.landing.parquet import local_path
from pravega_jobs.landing.staged_files import locked
from pravega_jobs.upkeep import iceberg_store
from pravega_jobs.upkeep.iceberg_compaction import Compaction, StoreCompaction, small_files
from pravega_jobs.upkeep.iceberg_files import expire, remove_files, works_of
from pravega_jobs.upkeep.leftovers import remove_staged
from pravega_jobs.upkeep.rules import Backlog, UpkeepRules, Upkept

if TYPE_CHECKING:
    from pyiceberg.table import Table

_WORK: Final = ".upkeep"
# Newer versions of the format number the rows, and rows that are written again would get new numbers.
_FORMATS: Final = (1, 2)


def keep_up(named: Iceberg, rules: UpkeepRules) -> Upkept:
    """Put small files together, expire snapshots, and remove files that no snapshot has.

    Raises:
        ConfigurationError: there is no table, or its format is newer than this upkeep.
        LandingError: it has files that are not understood.
        TableUnavailableError: the catalog does not answer, or others changed the table too often meanwhile.
    """
    table = _checked(named)
    root = location_of(table)
    if isinstance(root, StoreLocation):
        with store_answers(f"the upkeep of {named.identifier}"):
            return _keep_up_in_store(named, root, rules)
    folder = local_path(table.location())
    work = folder / _WORK
    work.mkdir(parents=True, exist_ok=True)
    with locked(work / "lock"):
        found = Compaction(named, rules, work)
        found.run()
        expired = expire(named, folder, rules)
        staged = [remove_staged(each, dry_run=rules.dry_run) for each in works_of(folder)]
        sizes, other = remove_files(named.load(), folder, expired, rules)
    if other is not None:
        found.left.append(
            f"files that no snapshot has were left: {other} is of another table in the same folder, or is not "
            "understood. Give each table its own folder"
        )
    return Upkept(
        named.location(),
        rules.dry_run,
        found.files,
        found.size,
        found.new_files,
        len(expired.snapshots),
        len(sizes) + sum(count for count, _ in staged),
        sum(sizes) + sum(size for _, size in staged),
        tuple(found.left),
    )


def backlog(named: Iceberg, rules: UpkeepRules) -> Backlog:
    """The work that waits for the next upkeep.

    Raises:
        ConfigurationError: there is no table, or its format is newer than this upkeep.
        LandingError: it has files that are not understood.
        TableUnavailableError: the catalog does not answer.
    """
    table = _checked(named)
    groups = small_files(table, rules.target_file_bytes)
    return Backlog(sum(map(len, groups)), getattr(table.metadata, "last_sequence_number", 0))


def _checked(named: Iceberg) -> "Table":
    table = named.table()
    if table is None:
        raise ConfigurationError(f"{named.location()}: there is no such table: check the name")
    if table.metadata.format_version not in _FORMATS:
        raise ConfigurationError(
            f"{named.location()} has version {table.metadata.format_version} of the format, which numbers rows: use "
            "rewrite_data_files and expire_snapshots of Spark. Nothing was changed"
        )
    return table


def _keep_up_in_store(named: Iceberg, root: StoreLocation, rules: UpkeepRules) -> Upkept:
    """As `keep_up`, without locks: commits and names of files decide."""
    found = StoreCompaction(named, rules, root)
    found.run()
    expired = expire(named, None, rules)
    removed = iceberg_store.remove_files(named.load(), root, expired, rules)
    if removed.unknown:
        found.left.append(
            f"{removed.unknown:,} files of others were left: no snapshot has them, and nothing says if one will"
        )
    return Upkept(
        named.location(),
        rules.dry_run,
        found.files,
        found.size,
        found.new_files,
        len(expired.snapshots),
        len(removed.sizes),
        sum(removed.sizes),
        tuple(found.left),
    )

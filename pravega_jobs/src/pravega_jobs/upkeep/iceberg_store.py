"""Files in the store of an Iceberg table that no snapshot has, and no commit can take: there are no locks of runs.

The names of staged files say what their commit needs. A landing or merge commits while the table does not hold its
interval with its generation or a newer one. An upkeep commits while the snapshot that it has read is the current one,
which cannot be once that has expired. All other files stay, whatever their age.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pravega_jobs.landing.iceberg_files import staged_of
from pravega_jobs.landing.iceberg_standing import IcebergStanding
from pravega_jobs.landing.locations import StoreLocation
from pravega_jobs.upkeep.iceberg_files import Expired, needed_files
from pravega_jobs.upkeep.rules import UpkeepRules

if TYPE_CHECKING:
    from pyiceberg.table import Table

_UPKEEP: Final = "upkeep"
_DATA: Final = "data"
_LANDED: Final = re.compile(r"data/(landing-[0-9a-f]{24})/([0-9]+)-[0-9a-f]{32}/.+")
_PUT_TOGETHER: Final = re.compile(rf"data/{_UPKEEP}-([0-9a-f]{{32}})-([0-9]+)-[0-9a-f]{{32}}/.+")


@dataclass(frozen=True, slots=True)
class Removed:
    """The bytes of the files that were removed, or would be, and the number of files that no one can judge."""

    sizes: list[int]
    unknown: int


def staging_of_upkeep(table: "Table", root: StoreLocation) -> tuple[StoreLocation, str]:
    """The location for files with the rows of others, and the begin of the name of the prefix of each run."""
    return root.child(_DATA), f"{_UPKEEP}-{table.metadata.table_uuid.hex}-{table.metadata.current_snapshot_id}"


def remove_files(table: "Table", root: StoreLocation, expired: Expired, rules: UpkeepRules) -> Removed:
    """Remove files of the table's prefix that no snapshot has, and no commit can take."""
    sizes = root.sizes()  # before the table is asked again: what a commit has taken meanwhile is seen
    table = table.refresh()
    needed = needed_files(table, expired)
    found = IcebergStanding.of(table)
    held = {
        staged_of(table, each.consumer, each.interval): each.generation for each in found.notes() if found.counts(each)
    }
    others = [name for name in sizes if root.file(name) not in needed]
    gone = [name for name in others if root.file(name) in expired.files or _is_late(name, held, table)]
    if not rules.dry_run:
        root.remove(gone)
    return Removed([sizes[name] for name in gone], len([*_unknown(set(others) - set(gone))]))


def _is_late(name: str, held: dict[str, int], table: "Table") -> bool:
    """True if no commit can take a staged file of the table any more; False also for files of another table."""
    landed, put_together = _LANDED.fullmatch(name), _PUT_TOGETHER.fullmatch(name)
    if landed is not None:
        return held.get(landed[1], 0) >= int(landed[2])
    if put_together is None or put_together[1] != table.metadata.table_uuid.hex:
        return False
    return int(put_together[2]) not in {each.snapshot_id for each in table.snapshots()}


def _unknown(names: Iterable[str]) -> Iterable[str]:
    """The names of files that no run of ours has staged."""
    return (each for each in names if not _LANDED.fullmatch(each) and not _PUT_TOGETHER.fullmatch(each))

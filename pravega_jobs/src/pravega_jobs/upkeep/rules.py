"""Rules of an upkeep, without I/O: the settings, the report, the files that are put together, the age of what goes.

A file is removed if no version of the table that was the current one within `keep` has it. Of a file that no version
ever had, its age alone says nothing: files of landings and merges are dead when their lock is free, and files of other
programs when they are older than their jobs may be.
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any, Final, TypeVar

from aiopravega.errors import ConfigurationError

TARGET_FILE_BYTES: Final = 128 * 2**20
KEEP: Final = timedelta(days=7)
# Other programs write files before they commit them: the age from which those are taken for dead.
OF_OTHERS: Final = timedelta(days=3)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class UpkeepRules:
    """The settings of an upkeep.

    Args:
        target_file_bytes: the size that files are put together to.
        keep: what was a part of the table within this time stays readable.
        dry_run: True to change nothing.

    Raises:
        ConfigurationError: the size is not positive, or the time is negative.
    """

    target_file_bytes: int = TARGET_FILE_BYTES
    keep: timedelta = KEEP
    dry_run: bool = False

    def __post_init__(self) -> None:
        if self.target_file_bytes < 1:
            raise ConfigurationError(f"target_file_bytes={self.target_file_bytes}: give a number of bytes above 0")
        if self.keep < timedelta():
            raise ConfigurationError(
                f"keep={self.keep}: give the time that older versions stay readable, not less than 0"
            )

    def cutoff(self) -> float:
        """The time before which a version must have been replaced so that it goes, in seconds since 1970."""
        return time.time() - self.keep.total_seconds()

    def cutoff_of_others(self) -> float:
        """The time before which a file must have been written that no version ever had, and no landing or merge."""
        return min(self.cutoff(), time.time() - OF_OTHERS.total_seconds())


@dataclass(frozen=True, slots=True)
class Upkept:
    """The report of an upkeep: its changes to a table, or those that it would make now.

    `compacted_files` were put together, `new_files` replace them. Files that were put together now are removed by an
    upkeep after `keep` only. `left`: what was not done, and why.
    """

    table: str
    dry_run: bool
    compacted_files: int = 0
    compacted_bytes: int = 0
    new_files: int = 0
    expired_snapshots: int = 0
    removed_files: int = 0
    removed_bytes: int = 0
    left: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The report as plain JSON."""
        return {**asdict(self), "left": list(self.left)}

    def __str__(self) -> str:
        would = "would be " if self.dry_run else ""
        size = f"{self.compacted_bytes:,} bytes"
        parts = [
            f"{self.compacted_files:,} files of {size} {would}put together to {self.new_files:,}",
            f"{self.expired_snapshots:,} snapshots {would}expired",
            f"{self.removed_files:,} files of {self.removed_bytes:,} bytes {would}removed",
            *self.left,
        ]
        return f"{self.table}: {'; '.join(parts)}"


@dataclass(frozen=True, slots=True)
class Backlog:
    """The work that waits for a table's next upkeep, by the table's metadata alone: no folder is listed.

    `small_files` would be put together now. `version` is the number of the table's current version, which each landing
    and each merge raises: old versions and the files that only these have also wait for an upkeep.
    """

    small_files: int
    version: int

    def is_due(self, after: int) -> bool:
        """True if an upkeep is due, which comes after so many small files, and with each version of so many."""
        return self.small_files >= after or (self.version > 0 and self.version % after == 0)


def groups(files: Iterable[tuple[T, int]], target: int) -> list[list[T]]:
    """Files that are put together, each in one group of two or more; files of the target size and above in none.

    Args:
        files: files with their bytes; files that come one after the other stay together.
        target: the bytes that a group has at most.
    """
    found, sizes = list[list[T]](), list[int]()
    for file, size in files:
        if size >= target:
            continue
        index = next((number for number, taken in enumerate(sizes) if taken + size <= target), None)
        if index is None:
            found.append([file])
            sizes.append(size)
        else:
            found[index].append(file)
            sizes[index] += size
    return [each for each in found if len(each) > 1]


def expiring(
    ancestors: Sequence[tuple[int, int]], others: Iterable[tuple[int, int]], kept: set[int], cutoff: int
) -> set[int]:
    """The snapshots that were replaced before a time, and are not needed.

    Ancestors expire from the oldest one on, without gaps: the history would end at a gap, and holdings of older
    ancestors would not count any more.

    Args:
        ancestors: number and time of the current snapshot and its ancestors, the newest first; times in milliseconds.
        others: number and time of all other snapshots.
        kept: the numbers of snapshots that stay.
        cutoff: the time.
    """
    oldest = next((index for index, (_, time) in enumerate(ancestors) if time <= cutoff), len(ancestors))
    replaced = ancestors[oldest][1] if oldest < len(ancestors) else -1
    needed = [index for index, (number, _) in enumerate(ancestors) if number in kept]
    gone = ancestors[max([oldest, *needed]) + 1 :]
    return {number for number, _ in gone} | {n for n, time in others if time < replaced and n not in kept}

"""Files that runs have left in the store of a Delta table: those that no commit can take any more, and no version has.

A store has no locks that say which runs live, and the age of a file says nothing. The table's log decides: if the table
holds an interval, a run of its generation or an older one that asks next finds it held, and commits nothing; a run that
has asked before fails, since its commit is refused after any other. Files that a commit has taken are in the log, as
long as one of the table's versions that can be read or restored has them.
"""

import json
import math
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Self
from urllib.parse import unquote

from aiopravega.errors import LandingError
from pravega_jobs.landing.delta_holdings import LOG, DeltaHoldings, staged_by, staged_of
from pravega_jobs.landing.locations import StoreLocation
from pravega_jobs.landing.rules import Holding, Landing
from pravega_jobs.landing.store_conditions import WRITTEN_ONCE

if TYPE_CHECKING:
    from deltalake import DeltaTable

_COMMIT: Final = ".json"
_AT_ONCE: Final = 500
_MILLISECONDS: Final = 1000


@dataclass(slots=True)
class LogFiles:
    """The files of a table by its log.

    Args:
        now: the files that the table has.
        added: the files that the commits which are left have added.
        removed: the files that these commits have taken out, and when each was taken out last, in seconds since 1970.
    """

    now: set[str]
    added: set[str] = field(default_factory=set)
    removed: dict[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, table: "DeltaTable", commits: Iterable[bytes]) -> Self:
        """The files of a table and of commits that are left."""
        import pyarrow as pa

        found = cls({unquote(path) for path in pa.table(table.get_add_actions())["path"].to_pylist()})
        for commit in commits:
            found._read(commit.decode().splitlines())
        return found

    def has(self, name: str) -> bool:
        """True if a version of the table that can be read has a file, or may have it."""
        return name in self.now or name in self.added or name in self.removed

    def _read(self, lines: list[str]) -> None:
        described = (json.loads(line)["commitInfo"] for line in lines if line.startswith('{"commitInfo"'))
        committed = next(described, dict[str, Any]()).get("timestamp")
        for line in lines:
            if line.startswith('{"add"'):
                self.added.add(unquote(json.loads(line)["add"]["path"]))
            elif line.startswith('{"remove"'):
                file = json.loads(line)["remove"]
                time = file.get("deletionTimestamp") or committed or math.inf
                name = unquote(file["path"])
                self.removed[name] = max(self.removed.get(name, 0), time / _MILLISECONDS)


@dataclass(frozen=True, slots=True)
class StoreFiles:
    """The files in the store of a table, and what its log says of them.

    Args:
        sizes: the bytes of each file by its name.
        log: the files by the log, as it was after these were listed: what a commit has taken meanwhile is seen.
        generations: the generations of the intervals that the table holds, by the names of their prefixes.
    """

    sizes: dict[str, int]
    log: LogFiles
    generations: dict[str, int]

    @classmethod
    def of(cls, stored: DeltaHoldings) -> Self:
        """All files in the store of a table.

        Raises:
            LedgerError: a note is damaged, or of another release.
            TableUnavailableError: the store cannot be asked.
        """
        assert stored.store is not None
        sizes, found = stored.store.sizes(), stored.standing()
        return cls._of(stored.store, sizes, found.table, [each for each in found.notes() if found.counts(each)])

    @classmethod
    def of_interval(cls, stored: DeltaHoldings, landing: Landing, own: str) -> Self:
        """The files that runs of an interval have staged, but for those whose addresses begin with `own`."""
        assert stored.store is not None
        prefix = staged_of(landing.interval.consumer, landing.interval.name)
        inside = stored.store.child(prefix)
        sizes = {
            f"{prefix}/{name}": size for name, size in inside.sizes().items() if not inside.file(name).startswith(own)
        }
        if not sizes:
            return cls({}, LogFiles(set()), {})
        found = stored.standing()
        note = found.note(landing)
        return cls._of(stored.store, sizes, found.table, [note] if note is not None and found.counts(note) else [])

    @classmethod
    def _of(
        cls, store: StoreLocation, sizes: dict[str, int], table: "DeltaTable | None", held: Iterable[Holding]
    ) -> Self:
        generations = {staged_of(each.consumer, each.interval): each.generation for each in held}
        log = LogFiles(set()) if table is None else LogFiles.of(table, _commits(store.child(LOG)))
        return cls(sizes, log, generations)

    def leftovers(self) -> list[str]:
        """The files that no commit can take, and no version of the table has."""
        late = [name for name in self.sizes if self._is_late(name) and not self.log.has(name)]
        return [*late, *(name for name in self.sizes if name.startswith(WRITTEN_ONCE))]

    def replaced(self, before: float) -> list[str]:
        """The files that commits before a time, in seconds since 1970, have taken out of the table."""
        gone = (name for name, time in self.log.removed.items() if time <= before and name not in self.log.now)
        return [name for name in gone if name in self.sizes]

    def unknown(self) -> list[str]:
        """The files that no version has, and that runs of ours have not staged."""
        others = (name for name in self.sizes if not name.startswith("_") and "/_" not in name)
        return [name for name in others if staged_by(name) is None and not self.log.has(name)]

    def _is_late(self, name: str) -> bool:
        """True if the table holds the interval of a staged file with its generation, or with a newer one."""
        run = staged_by(name)
        return run is not None and self.generations.get(run[0], 0) >= run[1]


def leftovers(stored: DeltaHoldings) -> dict[str, int]:
    """The bytes of all files in the store of a table that runs have left, by their names. Of a folder there are none.

    Raises:
        LedgerError: a note is damaged, or of another release.
        TableUnavailableError: the store cannot be asked.
    """
    if stored.store is None:
        return {}
    found = StoreFiles.of(stored)
    return {name: found.sizes[name] for name in found.leftovers()}


def remove_leftovers(stored: DeltaHoldings, landing: Landing, own: StoreLocation) -> None:
    """Remove what other runs of an interval have left in the store of a table that holds it now.

    Args:
        stored: the table.
        landing: the landing of the interval.
        own: the location of the files of this run.
    """
    # The rows are in the table: what cannot be removed now goes with the next generation, or with an upkeep.
    with suppress(LandingError, OSError):
        assert stored.store is not None
        stored.store.remove(StoreFiles.of_interval(stored, landing, own.file("")).leftovers())


def _commits(log: StoreLocation) -> Iterator[bytes]:
    """The commits that are left in a log, some in memory at a time."""
    names = [name for name in log.names() if name.endswith(_COMMIT)]
    for start in range(0, len(names), _AT_ONCE):
        yield from log.get_all(names[start : start + _AT_ONCE])

"""Files that runs have left in the store of a Delta table: those that no commit can take any more, and no version has.

A store has no locks that say which runs live, and the age of a file says nothing. The table's log decides: if the table
holds an interval, a run of its generation or an older one that asks next finds it held, and commits nothing; a run that
has asked before fails, since its commit is refused after any other. Files that a commit has taken are in the log, as
long as one of the table's versions that can be read or restored has them.
"""

import json
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Self
from urllib.parse import unquote

from aiopravega.errors import LandingError
from pravega_jobs.landing.delta_holdings import LOG, DeltaHoldings, staged_by, staged_of
from pravega_jobs.landing.locations import StoreLocation
from pravega_jobs.landing.rules import Holding, Landing

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
            for line in commit.decode().splitlines():
                if line.startswith('{"add"'):
                    found.added.add(unquote(json.loads(line)["add"]["path"]))
                elif line.startswith('{"remove"'):
                    about = json.loads(line)["remove"]
                    name, time = unquote(about["path"]), (about.get("deletionTimestamp") or 0) / _MILLISECONDS
                    found.removed[name] = max(found.removed.get(name, 0), time)
        return found

    @classmethod
    def in_store(cls, table: "DeltaTable", store: StoreLocation) -> Self:
        """The files of a table in a store."""
        return cls.of(table, _commits(store.child(LOG)))

    def has(self, name: str) -> bool:
        """True if a version of the table that can be read has a file, or may have it."""
        return name in self.now or name in self.added or name in self.removed


def leftovers(stored: DeltaHoldings) -> dict[str, int]:
    """The bytes of all files in the store of a table that runs have left, by their names. Of a folder there are none.

    Raises:
        LedgerError: a note is damaged, or of another release.
        TableUnavailableError: the store cannot be asked.
    """
    if stored.store is None:
        return {}
    # Listed before the table is asked, so that a commit which has taken one of them meanwhile is seen.
    files = stored.store.sizes()
    found = stored.standing()
    held = [each for each in found.notes() if found.counts(each)]
    return _proven(stored.store, files, found.table, held)


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
        prefix = staged_of(landing.interval.consumer, landing.interval.name)
        files = {f"{prefix}/{name}": size for name, size in stored.store.child(prefix).sizes().items()}
        others = {name: size for name, size in files.items() if not stored.store.file(name).startswith(own.file(""))}
        if others:
            found = stored.standing()
            note = found.note(landing)
            held = [] if note is None or not found.counts(note) else [note]
            stored.store.remove(list(_proven(stored.store, others, found.table, held)))


def _proven(
    store: StoreLocation, files: dict[str, int], table: "DeltaTable | None", held: Collection[Holding]
) -> dict[str, int]:
    """Those of some files that no commit can take, and no version of the table has."""
    generations = {staged_of(each.consumer, each.interval): each.generation for each in held}
    found = {name: size for name, size in files.items() if _is_late(staged_by(name), generations)}
    if table is None or not found:
        return {}
    known = LogFiles.in_store(table, store)
    return {name: size for name, size in found.items() if not known.has(name)}


def _is_late(run: tuple[str, int] | None, generations: dict[str, int]) -> bool:
    """True if the table holds the interval of a run with its generation, or with a newer one."""
    return run is not None and generations.get(run[0], 0) >= run[1]


def _commits(log: StoreLocation) -> Iterator[bytes]:
    """The commits that are left in a log, some in memory at a time."""
    names = [name for name in log.names() if name.endswith(_COMMIT)]
    for start in range(0, len(names), _AT_ONCE):
        yield from log.get_all(names[start : start + _AT_ONCE])

"""Upkeep of a Delta table: small files put together, and files removed that no version within `keep` has.

In a folder it holds the lock of landings and merges: these wait for it, and it for them. In a store there is no lock,
and the log decides: only files are removed that it says were replaced, or that no commit can take any more.

deltalake puts files together, which changes no rows: the log says so, and notes keep their transactions. The log itself
is not cleaned: it says which holdings count.
"""

import json
import time
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aiopravega.errors import ConfigurationError, LandingError, TableUnavailableError
from pravega_jobs.landing.delta import DeltaFolder
from pravega_jobs.landing.delta_leftovers import LogFiles, StoreFiles
from pravega_jobs.landing.locations import StoreLocation, store_answers
from pravega_jobs.landing.parquet import local_path
from pravega_jobs.landing.staged_files import locked
from pravega_jobs.landing.store_conditions import conditional
from pravega_jobs.upkeep.leftovers import remove_empty, remove_staged, staged_name
from pravega_jobs.upkeep.rules import Backlog, UpkeepRules, Upkept, groups

if TYPE_CHECKING:
    from deltalake import DeltaTable

_TRIES: Final = 10
_HOUR: Final = timedelta(hours=1)
# Features of tables by which deltalake would take files that are needed for others.
_UNKNOWN: Final = ("deletionVectors", "columnMapping")


def keep_up(folder: DeltaFolder, rules: UpkeepRules) -> Upkept:
    """Put small files together, and remove files that no version within `keep` has.

    Raises:
        ConfigurationError: there is no table, it has features that are not understood, or its store would lose one of
            two commits.
        LandingError: the table could not be changed.
        TableUnavailableError: others changed it too often meanwhile.
    """
    stored = folder.stored
    _checked(stored.table(), folder)
    if stored.store is not None:
        with store_answers(f"the upkeep of {folder.path}"):
            return _keep_up_in_store(folder, stored.store, rules)
    path = local_path(folder.path)
    stored.work.mkdir(exist_ok=True)
    with locked(stored.work / "lock"):
        table = _checked(stored.table(), folder)
        compacted = _planned(table, rules) if rules.dry_run else _compacted(folder, rules)
        staged_files, staged_bytes = remove_staged(stored.work, dry_run=rules.dry_run)
        removed = _remove(_checked(stored.table(), folder), path, rules)
        return Upkept(
            folder.location(),
            rules.dry_run,
            *compacted,
            removed_files=len(removed) + staged_files,
            removed_bytes=sum(removed) + staged_bytes,
        )


def backlog(folder: DeltaFolder, rules: UpkeepRules) -> Backlog:
    """The work that waits for the next upkeep.

    Raises:
        ConfigurationError: there is no table, or it has features that are not understood.
    """
    table = _checked(folder.stored.table(), folder)
    return Backlog(_planned(table, rules)[0], table.version())


def _keep_up_in_store(folder: DeltaFolder, store: StoreLocation, rules: UpkeepRules) -> Upkept:
    """As `keep_up`. Landings and merges that run meanwhile decide again, or find what they have read replaced."""
    if rules.dry_run:
        compacted = _planned(_checked(folder.stored.table(), folder), rules)
    else:
        conditional(store)
        compacted = _compacted(folder, rules)
    found = StoreFiles.of(folder.stored)
    gone = [*found.leftovers(), *found.replaced(rules.cutoff())]
    if not rules.dry_run:
        store.remove(gone)
    unknown = len(found.unknown())
    left = f"{unknown:,} files of other programs were left: no version has them, and nothing says if one will"
    return Upkept(
        folder.location(),
        rules.dry_run,
        *compacted,
        removed_files=len(gone),
        removed_bytes=sum(found.sizes[name] for name in gone),
        left=(left,) if unknown else (),
    )


def _checked(table: "DeltaTable | None", folder: DeltaFolder) -> "DeltaTable":
    if table is None:
        raise ConfigurationError(f"{folder.path} has no Delta table: check the path")
    protocol = table.protocol()
    features = {*(protocol.reader_features or ()), *(protocol.writer_features or ())}
    own = [each for each in _UNKNOWN if each in features]
    if own:
        raise ConfigurationError(
            f"{folder.path} has {', '.join(own)}, which this upkeep does not follow: use OPTIMIZE and VACUUM of Spark. "
            "Nothing was changed"
        )
    return table


def _planned(table: "DeltaTable", rules: UpkeepRules) -> tuple[int, int, int]:
    """About the files that would be put together, their bytes, and the files that would replace them."""
    import pyarrow as pa

    files = pa.table(table.get_add_actions()).to_pylist()
    by_partition: dict[str, list[tuple[int, int]]] = {}
    for each in files:
        size = each["size_bytes"]
        by_partition.setdefault(json.dumps(each.get("partition"), default=str), []).append((size, size))
    found = [group for sizes in by_partition.values() for group in groups(sizes, rules.target_file_bytes)]
    return sum(map(len, found)), sum(map(sum, found)), len(found)


def _compacted(folder: DeltaFolder, rules: UpkeepRules) -> tuple[int, int, int]:
    """Put small files together; returns their number, their bytes, and the number of files that replace them."""
    from deltalake import CommitProperties, PostCommitHookProperties
    from deltalake.exceptions import CommitFailedError, DeltaError

    for _ in range(_TRIES):
        table = _checked(folder.stored.table(), folder)
        try:
            done = table.optimize.compact(
                target_size=rules.target_file_bytes,
                commit_properties=CommitProperties(custom_metadata={"pravega": "upkeep"}),
                post_commithook_properties=PostCommitHookProperties(create_checkpoint=True, cleanup_expired_logs=False),
            )
        except CommitFailedError:
            continue  # another program was first
        except DeltaError as error:
            raise LandingError(f"the files of {folder.path} were not put together: {error}") from error
        return done["numFilesRemoved"], json.loads(done["filesRemoved"])["totalSize"], done["numFilesAdded"]
    raise TableUnavailableError(f"others changed {folder.path} {_TRIES} times in between. Run the upkeep again")


def _remove(table: "DeltaTable", folder: Path, rules: UpkeepRules) -> list[int]:
    """Remove the files that no version within `keep` has; returns their bytes. The caller holds the table's lock."""
    cutoff, cutoff_of_others = rules.cutoff(), rules.cutoff_of_others()
    age = int(max(0.0, time.time() - cutoff) // _HOUR.total_seconds())
    unneeded = table.vacuum(retention_hours=age, dry_run=True, enforce_retention_duration=False, full=True)
    commits = (each.read_bytes() for each in sorted((folder / "_delta_log").glob("*.json")))
    taken_out = LogFiles.of(table, commits).removed
    sizes = []
    for name in unneeded:
        file = folder / name
        if not file.is_file():
            continue
        about = file.stat()
        if name in taken_out:
            goes = max(taken_out[name], about.st_mtime) <= cutoff
        else:
            goes = about.st_mtime <= (cutoff if staged_name(Path(name).parts[0]) else cutoff_of_others)
        if goes:
            sizes.append(about.st_size)
            if not rules.dry_run:
                file.unlink(missing_ok=True)
    # No run is moving a folder there: the lock is held.
    for each in () if rules.dry_run else folder.iterdir():
        if staged_name(each.name):
            remove_empty(each)
    return sizes

"""Snapshots of an Iceberg table that expire, and files on a file system that no snapshot has.

Landings and merges of other processes continue meanwhile. Their files are theirs as long as a lock is held: those in a
folder of the lock's name, and all files that are newer than the oldest lock, such as manifests. Locks are asked before
the table is loaded, so that what a run has committed in between is seen.
"""

import gzip
import json
import os
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final
from uuid import UUID

from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException
from pyiceberg.table.snapshots import ancestors_of
from pyiceberg.table.update import AssertRefSnapshotId, AssertTableUUID, RemoveSnapshotsUpdate

from aiopravega.errors import TableUnavailableError
from pravega_jobs.landing.iceberg import Iceberg
from pravega_jobs.landing.iceberg_catalog import catalog_answers
from pravega_jobs.landing.iceberg_standing import LANDED_IN_SNAPSHOT, MERGED_IN_SNAPSHOT, IcebergStanding
from pravega_jobs.landing.locations import in_store
from pravega_jobs.landing.parquet import local_path
from pravega_jobs.landing.rules import MERGED
from pravega_jobs.upkeep.leftovers import files_in, remove_empty, running, staged_name
from pravega_jobs.upkeep.rules import UpkeepRules, expiring

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyiceberg.table.snapshots import Snapshot

_TRIES: Final = 10
_MILLISECONDS: Final = 1000
# Of a table's folder `metadata`, what is named by its content or number; other files are of programs that need them.
_TABLE: Final = ".metadata.json"
_ZIPPED_TABLE: Final = ".gz.metadata.json"
_METADATA: Final = (".avro", _TABLE, ".stats", ".puffin")


@dataclass(frozen=True, slots=True)
class Expired:
    """The snapshots that have expired, or would now, and the files that they had."""

    snapshots: frozenset[int] = frozenset()
    files: set[str] = field(default_factory=set)


def expire(named: Iceberg, folder: Path | None, rules: UpkeepRules) -> Expired:
    """Expire the snapshots that were replaced before `keep`, and that no branch, tag, note or run needs.

    Args:
        named: the table.
        folder: its folder, whose locks say what runs need; None: it is in a store.
        rules: the settings.

    Raises:
        TableUnavailableError: the catalog does not answer, or others changed the table too often meanwhile.
    """
    # A run reads what was the current snapshot when it began, or a later one: a merge reads the files it replaces.
    since = float("inf") if folder is None else running(works_of(folder)).since
    cutoff = min(rules.cutoff(), since)
    for _ in range(_TRIES):
        table = named.load()
        gone = _old(table, int(cutoff * _MILLISECONDS))
        found = Expired(gone, files_of(table, [each for each in table.snapshots() if each.snapshot_id in gone]))
        if rules.dry_run or not gone:
            return found
        heads = [
            AssertRefSnapshotId.model_validate({"ref": name, "snapshot-id": ref.snapshot_id})
            for name, ref in table.refs().items()
        ]
        try:
            with catalog_answers(named.identifier):
                table.catalog.commit_table(
                    table,
                    (AssertTableUUID(uuid=table.metadata.table_uuid), *heads),
                    (RemoveSnapshotsUpdate.model_validate({"snapshot-ids": sorted(gone)}),),
                )
        except (CommitFailedException, CommitStateUnknownException):
            continue
        return found
    raise TableUnavailableError(f"others changed {named.identifier} {_TRIES} times in between. Run the upkeep again")


def remove_files(table: "Table", folder: Path, expired: Expired, rules: UpkeepRules) -> tuple[list[int], Path | None]:
    """Remove files of the table's folder that no snapshot has, and no run needs.

    Another table may be in the same folder, if one was renamed and another made with its old name. Then only files of
    snapshots that have expired are removed: of others, this table does not know whose they are.

    Returns:
        The bytes of the files, and a file with the metadata of another table; None: there is none.
    """
    found = list(_stored(folder))
    alive = running(works_of(folder))
    needed = needed_files(table.refresh(), expired)
    # After the files are listed: a table has metadata before it has files.
    other = _other_table(table, (file for file, _ in found if str(file) not in needed))
    cutoff, cutoff_of_others = rules.cutoff(), rules.cutoff_of_others()
    sizes = []
    for file, about in found:
        if str(file) in needed:
            continue
        name = staged_name(file.parent.name)
        if str(file) in expired.files:
            goes = True
        elif other is not None:
            goes = False
        elif name is not None:
            goes = name not in alive.names and about.st_mtime <= cutoff
        else:
            goes = about.st_mtime <= min(cutoff_of_others, alive.since)
        if goes:
            sizes.append(about.st_size)
            if not rules.dry_run:
                file.unlink(missing_ok=True)
    for each in () if rules.dry_run else (folder / "data").glob("landing-*"):
        if staged_name(each.name) not in alive.names:
            remove_empty(each)
    return sizes, other


def needed_files(table: "Table", expired: Expired) -> set[str]:
    """All files of a table's metadata and of its snapshots, but for those that have expired: paths, or addresses."""
    left = [each for each in table.snapshots() if each.snapshot_id not in expired.snapshots]
    return files_of(table, left) | set(_metadata_files(table))


def works_of(folder: Path) -> list[Path]:
    """The folders of a table in which landings, merges and upkeeps stage their files."""
    return [each for each in folder.glob(".*") if each.is_dir()]


def _old(table: "Table", cutoff: int) -> frozenset[int]:
    """The snapshots that were replaced before a time, and that nothing needs."""
    current = table.current_snapshot()
    if current is None:
        return frozenset()
    ancestors = list(ancestors_of(current, table.metadata))
    own = {each.snapshot_id for each in ancestors}
    others = [each for each in table.snapshots() if each.snapshot_id not in own]
    kept = {current.snapshot_id, *_of_refs(table, own), *_of_notes(table, ancestors, others)}
    times = [[(each.snapshot_id, each.timestamp_ms) for each in some] for some in (ancestors, others)]
    return frozenset(expiring(times[0], times[1], kept, cutoff))


def _of_refs(table: "Table", main: Collection[int]) -> Iterator[int]:
    """The snapshots of branches and tags, and what branches have besides the table's own history."""
    for ref in table.refs().values():
        head = table.snapshot_by_id(ref.snapshot_id)
        if head is None:
            continue
        yield head.snapshot_id
        if ref.snapshot_ref_type == "branch":
            yield from (each.snapshot_id for each in ancestors_of(head, table.metadata) if each.snapshot_id not in main)


def _of_notes(table: "Table", ancestors: "list[Snapshot]", others: "list[Snapshot]") -> Iterator[int]:
    """The snapshots by which the table knows what was undone, or taken out by others."""
    texts = set(table.properties.values())
    for each in others:
        if _notes(each) & texts:
            yield each.snapshot_id  # without it, a landing that was rolled back would count again
    if MERGED in table.properties and IcebergStanding.of(table).taken_rows() is not None:
        for each in ancestors:
            yield each.snapshot_id
            if _notes(each):
                return


def _notes(snapshot: "Snapshot") -> set[str]:
    found = {} if snapshot.summary is None else snapshot.summary.additional_properties
    return {found[name] for name in (LANDED_IN_SNAPSHOT, MERGED_IN_SNAPSHOT) if name in found}


def files_of(table: "Table", snapshots: "list[Snapshot]") -> set[str]:
    """All files of snapshots: paths, or addresses in a store. Each manifest is read once."""
    manifests = {}
    found = set[str]()
    for snapshot in snapshots:
        found.add(_known_as(snapshot.manifest_list))
        manifests.update({each.manifest_path: each for each in snapshot.manifests(table.io)})
    for path, manifest in manifests.items():
        found.add(_known_as(path))
        for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=True):
            found.add(_known_as(entry.data_file.file_path))
    return found


def _metadata_files(table: "Table") -> Iterator[str]:
    """The table's metadata, older ones that it names, and statistics."""
    about = table.metadata
    yield _known_as(table.metadata_location)
    yield from (_known_as(each.metadata_file) for each in about.metadata_log)
    yield from (_known_as(each.statistics_path) for each in about.statistics)
    yield from (_known_as(each.statistics_path) for each in about.partition_statistics)


def _other_table(table: "Table", files: Iterable[Path]) -> Path | None:
    """The first file that has the metadata of another table."""
    for file in files:
        if file.name.endswith(_TABLE) and _table_id(file) not in (None, table.metadata.table_uuid):
            return file
    return None


def _table_id(file: Path) -> UUID | None:
    """The id of the table in a file of metadata, 0 if the file is not understood; None: it has gone."""
    opening = gzip.open if file.name.endswith(_ZIPPED_TABLE) else open
    try:
        with opening(file, "rb") as opened:
            return UUID(json.load(opened)["table-uuid"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError):
        return UUID(int=0)


def _known_as(address: str) -> str:
    return address if in_store(address) else str(local_path(address))


def _stored(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    yield from files_in(folder / "data")
    yield from ((file, about) for file, about in files_in(folder / "metadata") if file.name.endswith(_METADATA))

"""Files of landings into an Iceberg table: beside its own until a commit, in a folder or in a store."""

import hashlib
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aiopravega.errors import LandingError
from pravega_jobs.landing.iceberg_standing import IcebergStanding, note_name
from pravega_jobs.landing.locations import FolderLocation, Location, StoreLocation, in_store, store_location
from pravega_jobs.landing.parquet import local_path
from pravega_jobs.landing.rules import Holding, Landing
from pravega_jobs.landing.staged_files import StagedFiles
from pravega_jobs.landing.store_access import StoreAccess

if TYPE_CHECKING:
    from pyiceberg.table import Table

_WORK: Final = ".landing"
# The folder of the files of a table, and the begin of the names of folders in it.
_DATA: Final = "data"
_LANDED: Final = "landing"


def staging_of(table: "Table", landing: Landing) -> Location:
    """The location in which runs of a landing stage their files, each under another name."""
    root = location_of(table)
    return root.child(_WORK) if isinstance(root, FolderLocation) else root.child(_DATA).child(folder_of(table, landing))


def location_of(table: "Table") -> Location:
    """The folder of a table, or its prefix in a store, with the access that its catalog gives, if it gives one."""
    address = table.location()
    if not in_store(address):
        return FolderLocation(local_path(address))
    return store_location(address, StoreAccess.of_catalog(table.io.properties))


def into_table(table: "Table", staged: Path, names: Sequence[str]) -> list[str]:
    """Move a folder to where the table's files are; returns the names of its files there, orphans until the commit."""
    name = f"{_DATA}/{_LANDED}-{staged.name}"
    folder = local_path(table.location()) / name
    folder.parent.mkdir(exist_ok=True)
    staged.rename(folder)
    return [f"{table.location()}/{name}/{file}" for file in names]


def taken(table: "Table", staged: StagedFiles) -> list[str]:
    """The addresses of staged files as the table has them from its next commit on; until then they are orphans."""
    names = [file.name for file in staged.files]
    if not names:
        return []
    if isinstance(staged.location, FolderLocation):
        return into_table(table, staged.folder, names)
    location = staged.location.taken(staged.location)
    return [location.file(name) for name in names]


def check_same_table(table: "Table", staged: StagedFiles, landing: Landing) -> None:
    """Check that files in a store were staged for this table: their prefix has its id.

    Raises:
        LandingError: another table has its name by now.
    """
    staging = staging_of(table, landing)
    if isinstance(staging, StoreLocation) and not staged.location.address.startswith(staging.file("")):
        raise LandingError(
            f"{landing}: {'.'.join(table.name())} is another table by now than the one that the rows were written for: "
            "it was renamed, or made again. Run it again, if the new one shall have them. Nothing was changed"
        )


def remove_staged(staged: StagedFiles, files: list[str]) -> None:
    """Remove the files of a landing that the table does not take."""
    if isinstance(staged.location, FolderLocation):
        remove_folder(files)
    else:
        staged.location.remove_all()


def remove_folder(files: list[str]) -> None:
    """Remove the files of a landing that another run was faster with."""
    if files:
        shutil.rmtree(local_path(files[0]).parent, ignore_errors=True)


def folder_of(table: "Table", landing: Landing) -> str:
    """The name of the prefix with all files of an interval of a table, of each of its runs."""
    return staged_of(table, landing.interval.consumer, landing.interval.name)


def staged_of(table: "Table", consumer: str, interval: str) -> str:
    """The name of the prefix with all files of an interval of a table.

    It has the table's id: two tables may be in one prefix, if one was renamed and another made with its old name.
    """
    about = f"{table.metadata.table_uuid} {note_name(consumer, interval)}"
    return f"{_LANDED}-{hashlib.sha256(about.encode()).hexdigest()[:24]}"


def remove_abandoned(table: "Table", staged: StagedFiles, landing: Landing) -> None:
    """Remove files in a store that killed runs of the interval have left.

    The table holds the interval now, so that no run of this generation or an older one commits them any more. A run of
    a newer generation may: its files stay. Files that any snapshot has stay. The table is asked after the files are
    listed: it may have been rolled back meanwhile, and taken them since.
    """
    if isinstance(staged.location, FolderLocation):
        return
    # The rows are in the table: what cannot be removed now goes with the next generation.
    with suppress(LandingError, OSError, ValueError):
        location = staging_of(table, landing)
        assert isinstance(location, StoreLocation)
        own = {staged.location.file(each.name) for each in staged.files}
        others = [each for each in location.names() if location.file(each) not in own]
        note, known = _known(table.refresh(), landing) if others else (None, set[str]())
        if note is not None:
            late = (each for each in others if int(each.partition("-")[0]) <= note.generation)
            location.remove([each for each in late if location.file(each) not in known])


def _known(table: "Table", landing: Landing) -> tuple[Holding | None, set[str]]:
    """The table's holding of an interval, and all files of its snapshots."""
    found = IcebergStanding.of(table)
    note = found.note(landing)
    files = set(table.inspect.all_files()["file_path"].to_pylist())
    return note if note is not None and found.counts(note) else None, files

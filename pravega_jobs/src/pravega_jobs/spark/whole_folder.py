"""Folders of files that become visible at once: a try writes into a folder of its own, which is then renamed.

    parent/name/                       the files that everybody sees
    parent/.name.tries/3f9a…/mark      a try that is alive: the next try removes it with the folder
    parent/.name.tries/3f9a…/files/    the files of the try, until they are renamed to `parent/name`
    parent/.name.tries/3f9a…/old/      the files that they replace, until they are removed

The last try that begins wins: it removes the folders of all tries before it, dead ones as well, and a try whose
mark is gone shows nothing. Spark does not list names that begin with a dot. The file system has to rename a folder in
one step: HDFS does, as do mounted file systems and Azure's with a hierarchical namespace. In an object store, a rename
is a copy of file after file: tries do not mix there either, but a reader may see a part of the files until the end.
"""

import logging
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, Self
from uuid import uuid4

from aiopravega.errors import ConfigurationError, WriteSupersededError
from pravega_jobs.spark.session import is_connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

logger = logging.getLogger(__name__)

_FILE: Final = "file:"


class _Folders(Protocol):
    """The few operations on a file system; every path is an absolute text."""

    def mark(self, path: str) -> None:
        """Make an empty file, and the folders above it."""

    def exists(self, path: str) -> bool:
        """True if there is such a file or folder."""

    def names(self, path: str) -> list[str]:
        """The names in a folder; none if there is no such folder."""

    def rename(self, old: str, new: str) -> bool:
        """Give a folder another name, in one step; False: there is no such folder any more."""

    def remove(self, path: str) -> None:
        """Remove a folder and all in it, if it exists."""

    def remove_empty(self, path: str) -> None:
        """Remove a folder, if it is empty."""


@contextmanager
def whole_folder(spark: "SparkSession", path: str) -> Iterator[str]:
    """Give a block a folder to write to, which replaces the folder `path` in one step at the block's end.

    A block that raises leaves `path` as it is. Files of an earlier try are never mixed with the files of a later one,
    even if the earlier one still runs. Two tasks do not write the same path at the same time: one of them fails.

    Args:
        spark: the session that writes.
        path: on any file system that Spark knows. With Spark Connect, only on one that is mounted on both machines: on
            another one the block writes to `path` itself, and a line of the log says so.

    Raises:
        ConfigurationError: the path has no folder above it, or the block has written nothing.
        WriteSupersededError: another try has begun to write the path since: it shows its files, and not this one.
    """
    folders, target = _folders(spark, path)
    if folders is None:
        logger.warning(
            "%s is written directly, since Spark Connect gives no access to its file system: a try that was given up "
            "and still runs can mix its files with those of its retry. Take a folder that is mounted on both machines, "
            "or land the range in a table",
            path,
        )
        yield path
        return
    own = _begin(folders, path, target)
    try:
        yield f"{own}/files"
        _show(folders, own, target)
    finally:
        _forget(folders, own)


@dataclass(frozen=True, slots=True)
class LeftFolder:
    """The folder `own` of a try whose files are written while this process has ended: another one shows them."""

    target: str
    own: str

    @classmethod
    def begin(cls, spark: "SparkSession", path: str) -> Self:
        """Begin a try, by a session of Spark Connect.

        Raises:
            ConfigurationError: the path has no folder above it, or is not mounted on both machines.
        """
        folders, target = _folders(spark, path)
        if folders is None:
            raise ConfigurationError(
                f"{path} is not mounted both here and where the Spark Connect server writes, so that files of several "
                "tries could mix: take a folder that is, write without deferrable=True, or land the range in a table"
            )
        return cls(target, _begin(folders, path, target))

    @property
    def files(self) -> str:
        """The path to write to."""
        return f"{self.own}/files"

    def show(self) -> None:
        """Have the files replace those at the target.

        Raises:
            ConfigurationError: the folder is not mounted here, or nothing was written.
            WriteSupersededError: another try has begun to write the path since.
        """
        if not Path(self.target).parent.is_dir():
            raise ConfigurationError(
                f"{Path(self.target).parent} was mounted where the task began, but is not mounted here: mount it on "
                "all workers that run the task"
            )
        _show(_LocalFolders(), self.own, self.target)

    def forget(self) -> None:
        """Remove the folder of the try."""
        _forget(_LocalFolders(), self.own)


def _begin(folders: _Folders, path: str, target: str) -> str:
    """Make the folder of a try, and end all others; returns it."""
    parent, _, name = target.rpartition("/")
    if not name or parent.endswith("/"):
        raise ConfigurationError(f"{path!r} has no folder above it, where a try could write: name a folder in it")
    tries = f"{parent}/.{name}.tries"
    own = f"{tries}/{uuid4().hex}"
    for dead in folders.names(tries):
        folders.remove(f"{tries}/{dead}")
    folders.mark(f"{own}/mark")
    return own


def _forget(folders: _Folders, own: str) -> None:
    folders.remove(own)
    folders.remove_empty(own.rpartition("/")[0])


def _show(folders: _Folders, own: str, target: str) -> None:
    """Have the files of a try replace the files that everybody sees."""
    if not folders.exists(f"{own}/mark"):
        raise _superseded(target)
    if not folders.exists(f"{own}/files"):
        raise ConfigurationError(f"nothing was written to {own}/files, which was to become {target}")
    replaced = folders.exists(target) and folders.rename(target, f"{own}/old")
    if folders.exists(target) or not folders.rename(f"{own}/files", target):
        if replaced and not folders.exists(target):
            folders.rename(f"{own}/old", target)
        raise _superseded(target)


def _superseded(target: str) -> WriteSupersededError:
    return WriteSupersededError(
        f"another task, or a later try of this one, has begun to write {target} since this try began: it shows its "
        "files, and not this one. Two runs that write at the same time need folders of their own: put the run's date "
        "or the interval into the path"
    )


def _folders(spark: "SparkSession", path: str) -> tuple[_Folders | None, str]:
    """The file system of a path, and the path in full; None: it cannot be reached from here."""
    if not is_connect(spark):
        hadoop = _HadoopFolders(spark, path)
        return hadoop, hadoop.path
    local = path.removeprefix("file://") if path.startswith("file:///") else path.removeprefix(_FILE)
    if local.startswith("/") and _is_shared(spark, local):
        return _LocalFolders(), local.rstrip("/")
    return None, path


def _is_shared(spark: "SparkSession", path: str) -> bool:
    """True if the server of Spark Connect sees what this machine writes beside a path."""
    from pyspark.errors import PySparkException

    # Spark reads no file whose name begins with a dot, but one in such a folder, which no reader of the parent lists.
    folder = Path(path.rstrip("/")).parent / f".probe-{uuid4().hex}"
    try:
        folder.mkdir(parents=True)
        (folder / "probe").write_text(folder.name)
        return [row.value for row in spark.read.text(f"{_FILE}//{folder}/probe").collect()] == [folder.name]
    except (OSError, PySparkException):
        return False
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class _LocalFolders:
    """A file system that is mounted here."""

    def mark(self, path: str) -> None:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).touch()

    def exists(self, path: str) -> bool:
        return Path(path).exists()

    def names(self, path: str) -> list[str]:
        return [each.name for each in Path(path).iterdir()] if Path(path).is_dir() else []

    def rename(self, old: str, new: str) -> bool:
        try:
            Path(old).rename(new)
        except FileNotFoundError:
            return False
        return True

    def remove(self, path: str) -> None:
        shutil.rmtree(path, ignore_errors=True)

    def remove_empty(self, path: str) -> None:
        try:
            Path(path).rmdir()
        except OSError:
            logger.debug("%s is not empty: another try is in it", path)


class _HadoopFolders:
    """A file system that Spark's JVM knows: local, HDFS, an object store.

    Args:
        spark: the session, which is not of Spark Connect.
        path: a path on the file system.
    """

    def __init__(self, spark: "SparkSession", path: str) -> None:
        # The only way to Hadoop's file systems.
        self._path: Any = spark._jvm.org.apache.hadoop.fs.Path  # type: ignore[union-attr]  # noqa: SLF001  # it is not public
        session: Any = spark._jsparkSession  # noqa: SLF001  # nor is this
        named = self._path(path)
        self._files: Any = named.getFileSystem(session.sessionState().newHadoopConf())
        self.path = str(self._files.makeQualified(named).toString())

    def mark(self, path: str) -> None:
        self._files.create(self._path(path), True).close()

    def exists(self, path: str) -> bool:
        return bool(self._files.exists(self._path(path)))

    def names(self, path: str) -> list[str]:
        if not self.exists(path):
            return []
        return [str(each.getPath().getName()) for each in self._files.listStatus(self._path(path))]

    def rename(self, old: str, new: str) -> bool:
        return self.exists(old) and bool(self._files.rename(self._path(old), self._path(new)))

    def remove(self, path: str) -> None:
        self._files.delete(self._path(path), True)

    def remove_empty(self, path: str) -> None:
        from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # py4j has no types

        try:
            self._files.delete(self._path(path), False)
        except Py4JJavaError:
            logger.debug("%s is not empty: another try is in it", path)

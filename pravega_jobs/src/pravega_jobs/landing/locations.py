"""Locations of files: a folder of a file system, or a prefix of an object store (`s3://`, `gs://`, `abfss://`).

Files of a location are written, read and removed by their names. A file of a store appears when it is whole, or not at
all. Stores are asked by `obstore`, which finds credentials and endpoints itself, like `deltalake`: in the environment
(`AWS_…`, `GOOGLE_…`, `AZURE_…`), or from the machine. In a block of `store_access.accessing` they come from there: a
location has them, and shows none.
"""
# long because: folders and stores are one interface, with the files that PyArrow reads and writes in a store

import io
import os
import re
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from aiopravega.errors import ConfigurationError, LandingError, TableUnavailableError
from pravega_jobs.landing.store_access import ALLOW_HTTP, StoreAccess, current_access

if TYPE_CHECKING:
    import pyarrow as pa
    from obstore.store import ObjectStore

_STORES: Final = ("s3", "gs", "abfss")
_ADDRESS: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/]+)(?:/(.*))?")
# Other characters are encoded in one library and not in the other, so that a table would have two addresses.
_BUCKET: Final = re.compile(r"[A-Za-z0-9._-]+|[A-Za-z0-9-]+@[A-Za-z0-9.-]+")
_ODD: Final = re.compile(r"[^A-Za-z0-9._=/-]|//|(?:^|/)\.\.?(?:/|$)")
# Limits of each request to a store, for `obstore` and for `deltalake`: seconds, and tries after the first one.
CONNECT_SECONDS: Final = 10
REQUEST_SECONDS: Final = 60
RETRIES: Final = 8
RETRY_SECONDS: Final = 150
# Parts of a file that are on their way to a store at once, each of 8 MiB.
_PART_BYTES: Final = 8 * 1024**2
_PARTS: Final = 4
_GETS: Final = 16


class Location(Protocol):
    """A location of files, which tasks in other processes can have. A name of a file may have folders before it."""

    @property
    def address(self) -> str:
        """The folder, or the prefix with its scheme, without a slash at the end."""
        ...

    def child(self, name: str) -> "Location":
        """A location in this one."""
        ...

    def file(self, name: str) -> str:
        """The address of a file."""
        ...

    def sink(self, name: str) -> "AbstractContextManager[pa.NativeFile]":
        """A new file, while a block writes it. If the block fails, a store does not get the file."""
        ...

    def source(self, name: str) -> "pa.NativeFile":
        """A file to read, at any offset.

        Raises:
            FileNotFoundError: there is none.
        """
        ...

    def get(self, name: str) -> bytes | None:
        """The contents of a small file; None: there is none."""
        ...

    @property
    def is_taken(self) -> bool:
        """True if a commit may have taken the files, or takes them next."""
        ...

    def taken(self, target: "Location") -> "Location":
        """The location of the same files as the table has them, from its next commit on.

        A folder is renamed to `target`, which does not exist. Files in a store stay where they are.
        """
        ...

    def remove_all(self) -> None:
        """Remove all files of the location, and of locations in it."""
        ...


@dataclass(frozen=True, slots=True)
class FolderLocation:
    """A folder of a file system; it must exist before files are written."""

    path: Path

    @property
    def address(self) -> str:
        """The folder."""
        return str(self.path)

    def child(self, name: str) -> "FolderLocation":
        """A folder in this one."""
        return FolderLocation(self.path / name)

    def file(self, name: str) -> str:
        """The path of a file."""
        return str(self.path / name)

    @contextmanager
    def sink(self, name: str) -> "Iterator[pa.NativeFile]":
        """A new file, while a block writes it."""
        import pyarrow as pa

        path = self.path / name
        if path.parent != self.path:
            path.parent.mkdir(parents=True, exist_ok=True)
        with pa.OSFile(str(path), "wb") as file:
            yield file

    def source(self, name: str) -> "pa.NativeFile":
        """A file to read, at any offset.

        Raises:
            FileNotFoundError: there is none.
        """
        import pyarrow as pa

        return pa.OSFile(self.file(name), "rb")

    def get(self, name: str) -> bytes | None:
        """The contents of a small file; None: there is none."""
        file = self.path / name
        return file.read_bytes() if file.exists() else None

    @property
    def is_taken(self) -> bool:
        """True if the folder is not there any more."""
        return not self.path.exists()

    def taken(self, target: Location) -> Location:
        """The folder under its new name."""
        assert isinstance(target, FolderLocation)
        target.path.parent.mkdir(exist_ok=True)
        return FolderLocation(self.path.rename(target.path))

    def remove_all(self) -> None:
        """Remove the folder and all that is in it."""
        shutil.rmtree(self.path, ignore_errors=True)


@dataclass(slots=True)
class StoreLocation:
    """A prefix of an object store.

    Args:
        address: as `store_location` has checked it.
        access: to the store; None: from the environment, or from the machine.
    """

    address: str
    access: StoreAccess | None = field(default=None, compare=False, repr=False)
    is_taken: bool = field(default=False, compare=False, repr=False)

    def child(self, name: str) -> "StoreLocation":
        """A prefix below this one."""
        return StoreLocation(f"{self.address}/{name}", self.access)

    def file(self, name: str) -> str:
        """The address of a file."""
        return f"{self.address}/{name}"

    @contextmanager
    def sink(self, name: str) -> "Iterator[pa.NativeFile]":
        """A new file, while a block writes it, in parts; the store shows it when the block has ended well."""
        import obstore
        import pyarrow as pa

        with _answers(self):
            writer = obstore.open_writer(self._store, self._key(name), buffer_size=_PART_BYTES, max_concurrency=_PARTS)
            yield pa.PythonFile(_Parts(writer), "w")
            writer.close()  # not after a failure: a file that is not whole must not appear

    def source(self, name: str) -> "pa.NativeFile":
        """A file to read, at any offset.

        Raises:
            FileNotFoundError: there is none.
        """
        import obstore
        import pyarrow as pa

        with _answers(self):
            try:
                size = int(obstore.head(self._store, self._key(name))["size"])
            except FileNotFoundError:  # its text has pages for developers of the library
                raise FileNotFoundError(f"{self.file(name)} is not there") from None
            return pa.PythonFile(_Ranges(self, name, size), "r")

    def range_of(self, name: str, start: int, end: int) -> bytes:
        """The bytes of a file between two offsets.

        Raises:
            FileNotFoundError: there is none.
        """
        import obstore

        with _answers(self):
            return bytes(obstore.get_range(self._store, self._key(name), start=start, end=end))

    def taken(self, target: Location) -> Location:
        """The same location, whose files are kept from now on."""
        del target
        self.is_taken = True
        return self

    def get(self, name: str) -> bytes | None:
        """The contents of a small file; None: there is none."""
        import obstore

        with _answers(self):
            try:
                return bytes(obstore.get(self._store, self._key(name)).bytes())
            except FileNotFoundError:
                return None

    def get_all(self, names: list[str]) -> list[bytes]:
        """The contents of small files, as far as they are there, some requests at a time."""
        with ThreadPoolExecutor(_GETS) as pool:
            return [each for each in pool.map(self.get, names) if each is not None]

    def put(self, name: str, value: bytes) -> None:
        """Write a small file, or write it again."""
        import obstore

        with _answers(self):
            obstore.put(self._store, self._key(name), value)

    def put_once(self, name: str, value: bytes) -> bool:
        """Write a small file unless it exists; returns False if the store says that it does.

        Raises:
            NotImplementedError: the store knows no such condition, or is configured to send none.
        """
        import obstore
        from obstore.exceptions import AlreadyExistsError

        with _answers(self):
            try:
                obstore.put(self._store, self._key(name), value, mode="create", use_multipart=False)
            except AlreadyExistsError:
                return False
            return True

    def sizes(self) -> dict[str, int]:
        """The bytes of all files by their names; of a file in a location below, its path is the name."""
        import obstore

        prefix = self._key("")
        with _answers(self):
            found = [each for some in obstore.list(self._store, prefix) for each in some]
        return {str(each["path"]).removeprefix(prefix): int(each["size"]) for each in found}

    def names(self) -> list[str]:
        """The names of all files, in order; of a file in a location below, its path."""
        return sorted(self.sizes())

    def remove(self, names: list[str]) -> None:
        """Remove files, as far as they are there."""
        import obstore

        with _answers(self):
            for name in names:
                try:
                    obstore.delete(self._store, self._key(name))
                except FileNotFoundError:
                    continue

    def remove_all(self) -> None:
        """Remove all files of the location, and of locations in it."""
        self.remove(self.names())

    @property
    def _store(self) -> "ObjectStore":
        options = {} if self.access is None else self.access.options()
        return _store_of(*_parsed(self.address)[:2], tuple(sorted(options.items())))

    def _key(self, name: str) -> str:
        prefix = _parsed(self.address)[2]
        return f"{prefix}/{name}" if prefix else name


class _Parts(io.RawIOBase):
    """A file of a store that is being written, for PyArrow, which asks how much of it is written."""

    def __init__(self, writer: Any) -> None:
        self._writer = writer
        self._size = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._writer.write(bytes(data))
        self._size += len(data)
        return len(data)

    def tell(self) -> int:
        return self._size


class _Ranges(io.RawIOBase):
    """A file of a store that is being read, for PyArrow, which asks for ranges of it."""

    def __init__(self, location: StoreLocation, name: str, size: int) -> None:
        self._location, self._name, self._size = location, name, size
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        return self._at

    def tell(self) -> int:
        return self._at

    def size(self) -> int:
        return self._size

    def read(self, size: int = -1) -> bytes:
        end = self._size if size < 0 else min(self._at + size, self._size)
        if end <= self._at:
            return b""
        found = self._location.range_of(self._name, self._at, end)
        self._at = end
        return found


def in_store(text: str) -> bool:
    """True if a text is an address with a scheme, and not a path or a `file://` address."""
    return _ADDRESS.fullmatch(text) is not None and not text.startswith("file:")


def store_location(text: str, access: StoreAccess | None = None) -> StoreLocation:
    """The location that an address names. No server is asked.

    Args:
        text: the address.
        access: to the store; None: that of the block that runs, if it has one.

    Raises:
        ConfigurationError: the scheme is not one of `s3`, `gs` and `abfss`, or the address has characters that not all
            libraries read alike.
    """
    scheme, bucket, path = _parsed(text)
    # The text may have a password: it is shown only after this.
    if scheme not in _STORES:
        raise ConfigurationError(
            f"tables cannot be in a store at {scheme}://: write {', '.join(f'{each}://' for each in _STORES)}, or the "
            "absolute path of a folder"
        )
    if not _BUCKET.fullmatch(bucket) or ("@" in bucket) != (scheme == "abfss"):
        raise ConfigurationError(
            "the address of a table in a store has a part that is not the name of a bucket: write s3://bucket/path, "
            "gs://bucket/path or abfss://container@account.dfs.core.windows.net/path. Keys belong in the environment"
        )
    if not path or _ODD.search(path):
        raise ConfigurationError(
            f"{text!r}: a table in a store needs a path of letters, digits and ._=/- behind its bucket or container"
        )
    return StoreLocation(text.rstrip("/"), access or current_access())


def _parsed(text: str) -> tuple[str, str, str]:
    """The scheme, the bucket or container, and the path of an address."""
    found = _ADDRESS.fullmatch(text)
    if found is None:
        raise ConfigurationError(f"{text!r} is not an address in an object store: write s3://bucket/path")
    return found[1], found[2], (found[3] or "").rstrip("/")


# The core of obstore raises it for options of a client. It is not an `Exception`, and cannot be imported.
_PANIC: Final = "PanicException"
_ALLOW_HTTP: Final = {"s3": "AWS_ALLOW_HTTP", "gs": "GOOGLE_ALLOW_HTTP", "abfss": "AZURE_ALLOW_HTTP"}


@lru_cache(maxsize=16)
def _store_of(scheme: str, bucket: str, options: tuple[tuple[str, str], ...]) -> "ObjectStore":
    """The client of a bucket, or of a container, with limits for each request. Renewed keys make a new one.

    Raises:
        ConfigurationError: obstore is not installed, or does not take the options.
    """
    try:
        from obstore.exceptions import BaseError
        from obstore.store import from_url
    except ImportError:
        raise ConfigurationError("tables in object stores need obstore: pip install 'pravega-jobs[stores]'") from None
    config: Any = dict(options)
    allow_http = config.pop(ALLOW_HTTP, os.environ.get(_ALLOW_HTTP[scheme], ""))
    try:
        return from_url(
            f"{scheme}://{bucket}",
            config=config,
            client_options={
                "connect_timeout": timedelta(seconds=CONNECT_SECONDS),
                "timeout": timedelta(seconds=REQUEST_SECONDS),
                # Options of a client replace what obstore reads in the environment.
                "allow_http": allow_http.lower() in ("true", "1"),
            },
            retry_config={"max_retries": RETRIES, "retry_timeout": timedelta(seconds=RETRY_SECONDS)},
        )
    except BaseException as error:
        if not isinstance(error, BaseError) and type(error).__name__ != _PANIC:
            raise
        said = str(error).partition("\n")[0]
        raise ConfigurationError(
            f"obstore does not take the options for {scheme}://{bucket}: {said} (given: {', '.join(sorted(config))})"
        ) from error


def no_answer(what: object, error: Exception) -> TableUnavailableError:
    """The error of a run that does not know what a store has done.

    Args:
        what: what had no answer.
        error: what came instead.
    """
    return TableUnavailableError(
        f"{what} had no clear answer: {error}. Run it again: it finds out what the table holds"
    )


@contextmanager
def store_answers(what: object) -> Iterator[None]:
    """Errors of libraries that read tables in stores as errors of this package, but for a file that is not there.

    Args:
        what: what is read or done.
    """
    try:
        yield
    except FileNotFoundError:
        raise
    except Exception as error:
        # What pyiceberg reads Azure with gives errors of Azure's own library as they are.
        if not isinstance(error, OSError) and type(error).__module__.partition(".")[0] != "azure":
            raise
        raise no_answer(what, error) from error


@contextmanager
def _answers(location: StoreLocation) -> Iterator[None]:
    """Errors of a store as errors of this package, but for a file that is not there."""
    try:
        from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError
    except ImportError:
        raise ConfigurationError("tables in object stores need obstore: pip install 'pravega-jobs[stores]'") from None
    try:
        yield
    except FileNotFoundError:
        raise
    # A file that is being written fails with an OSError when it is closed.
    except (BaseError, OSError) as error:
        refused = isinstance(error, PermissionDeniedError | UnauthenticatedError)
        said = str(error).partition("\n")[0]  # the lines below repeat it for developers of the library
        raise (LandingError if refused else TableUnavailableError)(
            f"the object store did not do what {location.address} needed: {said}"
        ) from error

"""Fetch the jars of the servers into the user's cache, and check every one of them.

A jar is downloaded to a folder of its own, hashed there, and only then renamed; a stamp file says that
all are there. So a start with a filled cache touches no network and hashes nothing, and a process that dies half way
leaves nothing that could be taken for a jar. One process fetches at a time, while the others wait.
"""

import contextlib
import hashlib
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from aiopravega.errors import ChecksumError, EmulatorError
from aiopravega.retry import RetryPolicy
from pravega_emulator.jars import FOLDER_PREFIX, Jar, JarList, cache_folder, locked_jars
from pravega_emulator.locks import locked

REPOSITORY_VARIABLE = "PRAVEGA_EMULATOR_MAVEN_REPOSITORY"
_THREADS = 16  # small files: the time goes into waiting for answers
_ATTEMPTS = 3
_REQUEST_SECONDS = 30
_LOCK_SECONDS = 600.0
_STAMP = ".verified"
_LINES = 4  # a line after every quarter: enough to see life in a CI log
_MEGABYTE = 1_000_000

Advance = Callable[[int], None]


def ensure_jars(jars: JarList | None = None, repository: str | None = None) -> Path:
    """Return the folder that holds all jars, fetching what is missing.

    `repository` is the URL of a Maven repository to use instead of Maven Central; the environment variable
    PRAVEGA_EMULATOR_MAVEN_REPOSITORY does the same.

    Raises:
        ChecksumError: a jar was fetched again and still has another SHA-256 than the list says.
        EmulatorError: a jar could not be fetched.
    """
    jars = jars or locked_jars()
    folder = jars.folder()
    if _is_complete(folder, jars):
        return folder
    with locked(cache_folder() / "fetch.lock", _LOCK_SECONDS, "fetching the servers' jars"):
        if not _is_complete(folder, jars):
            _fetch(jars, folder, repository or os.environ.get(REPOSITORY_VARIABLE))
    return folder


def _is_complete(folder: Path, jars: JarList) -> bool:
    stamp = folder / _STAMP
    if not stamp.is_file() or stamp.read_text(encoding="utf-8") != jars.digest:
        return False
    return all(_size(folder / jar.filename) == jar.size for jar in jars.jars)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return -1


def _fetch(jars: JarList, folder: Path, repository: str | None) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for jar in jars.jars:
        _link(jar, folder)
    missing = [jar for jar in jars.jars if _sha256(folder / jar.filename) != jar.sha256]
    size = sum(jar.size for jar in missing)
    with (
        tempfile.TemporaryDirectory(prefix="fetching-", dir=cache_folder()) as staging,
        show_progress(f"Fetching {len(missing)} jars", size) as advance,
        ThreadPoolExecutor(_THREADS) as pool,
    ):
        download = _downloader(Path(staging), repository)
        tasks = [pool.submit(_fetch_one, jar, folder, download) for jar in missing]
        try:
            for task in as_completed(tasks):
                advance(task.result())
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    (folder / _STAMP).write_text(jars.digest, encoding="utf-8")


def _link(jar: Jar, folder: Path) -> None:
    """Link a jar that another release of this package has in the cache already."""
    path = folder / jar.filename
    for other in cache_folder().glob(f"{FOLDER_PREFIX}*/{jar.filename}"):
        if not path.exists() and _sha256(other) == jar.sha256:
            with contextlib.suppress(OSError):  # not every file system has links
                path.hardlink_to(other)


def _fetch_one(jar: Jar, folder: Path, download: Callable[[Jar], Path]) -> int:
    """Download, check and move one jar to its final name; returns its size in bytes."""
    pauses = RetryPolicy()
    for attempt in range(_ATTEMPTS):
        problem: EmulatorError
        try:
            path = download(jar)
        except (OSError, RuntimeError) as error:
            problem = EmulatorError(
                f"could not fetch {jar} in {_ATTEMPTS} attempts: {error}. Check the network, or set "
                f"{REPOSITORY_VARIABLE} to a Maven repository that this machine can reach"
            )
        else:
            checksum = _sha256(path)
            if checksum == jar.sha256:
                path.replace(folder / jar.filename)
                return jar.size
            path.unlink()
            problem = ChecksumError(
                f"{jar.filename}: expected SHA-256 {jar.sha256}, got {checksum} in {_ATTEMPTS} downloads. Something "
                "between this machine and Maven Central changes the file, or the mirror in "
                f"{REPOSITORY_VARIABLE} holds another one: fetch from a different network or mirror"
            )
        time.sleep(pauses.pause(attempt))
    raise problem


def _downloader(staging: Path, repository: str | None) -> Callable[[Jar], Path]:
    from jgo.maven import MavenContext, PythonResolver  # slow to import, and seldom needed

    remotes = {"mirror": repository} if repository else None
    context = MavenContext(PythonResolver(), repo_cache=staging, remote_repos=remotes, timeout=_REQUEST_SECONDS)

    def download(jar: Jar) -> Path:
        artifact = context.project(jar.group, jar.artifact).at_version(jar.version).artifact(classifier=jar.classifier)
        try:
            return Path(artifact.resolve())
        except BaseException:
            # What arrived before the failure would be taken for the whole file by the next attempt.
            if artifact.cached_path is not None:
                artifact.cached_path.unlink(missing_ok=True)
            raise

    return download


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return ""


@contextmanager
def show_progress(title: str, total: int, stream: TextIO | None = None) -> Iterator[Advance]:
    """Yield a function that takes the number of bytes that arrived; it may be called from any thread.

    Progress is a bar on a terminal, and a line now and then elsewhere (logs, CI).
    """
    stream = stream or sys.stderr
    if stream.isatty():
        with _bar(title, total, stream) as advance:
            yield advance
    else:
        yield _Lines(title, total, stream)


@contextmanager
def _bar(title: str, total: int, stream: TextIO) -> Iterator[Advance]:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=Console(file=stream)) as progress:
        task = progress.add_task(title, total=total)
        yield lambda count: progress.advance(task, count)


class _Lines:
    def __init__(self, title: str, total: int, stream: TextIO) -> None:
        self._title, self._total, self._stream = title, total, stream
        self._done = self._printed = 0
        self._lock = threading.Lock()
        self._print()

    def __call__(self, count: int) -> None:
        with self._lock:
            self._done += count
            part = self._done * _LINES // self._total if self._total else _LINES
            if part > self._printed:
                self._printed = part
                self._print()

    def _print(self) -> None:
        done, total = self._done // _MEGABYTE, self._total // _MEGABYTE
        print(f"{self._title}: {done} of {total} MB", file=self._stream, flush=True)

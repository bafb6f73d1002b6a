"""Rows of a landing as Parquet files: the one writer for tasks of Spark and for this process.

A task that is tried again writes other files. Only files whose names reach this process count. On a file system
they are written in a folder below the location, and those that count are moved out of it: a try that Spark has given up
may continue writing there, and nobody reads it.
"""

import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any, Final, Self

import pyarrow as pa
from pyarrow import parquet

from aiopravega.errors import LandingError
from pravega_jobs.landing.locations import FolderLocation, Location
from pravega_jobs.landing.rules import Landing
from pravega_jobs.landing.splitting import Split
from pravega_jobs.landing.staged_files import StagedFile, StagedFiles, footer_of

# Bytes of Arrow's columns that become a group of rows in a file.
_GROUP_BYTES: Final = 64 * 1024 * 1024
_TRIES: Final = "tries"
# Files of partitions that a task or this process writes at once. In a store, each has a part of 8 MB in memory.
_MOST_OPEN: Final = 16


def stage(
    landing: Landing,
    location: Location,
    schema: pa.Schema,
    work: Callable[[Location], Iterable[StagedFile]],
    split: Split | None = None,
) -> StagedFiles:
    """Have files written in a new location; without rows, it gets one file without rows, unless they are split.

    Args:
        landing: the landing of the rows, for messages.
        location: the location, which does not exist yet.
        schema: the columns of the rows, as `with_own` gave them.
        work: writes the files in the location that it is given, and returns those that count.
        split: the split by which it writes them.

    Raises:
        LandingError: the files that were written are not where this process looks for them.
    """

    def written(inside: Location) -> tuple[StagedFile, ...]:
        files = tuple(work(inside))
        return files if files or split is not None else (_empty(inside, schema),)

    left_out = () if split is None else split.left_out(schema)
    columns = _footer(_without(schema, left_out))
    if not isinstance(location, FolderLocation):
        return StagedFiles(location, written(location), columns, split, left_out)
    tries = location.child(_TRIES)
    tries.path.mkdir(parents=True)
    files = written(tries)
    for each in files:
        found = tries.path / each.name
        if not found.exists() or found.stat().st_size != each.size:
            raise LandingError(
                f"{landing}: {sum(each.rows for each in files)} rows were written into {tries.path}, but this process "
                f"does not find {each.name} there as it was written. Spark's executors and this process must share "
                "this folder. The table was not changed"
            )
        target = location.path / each.name
        target.parent.mkdir(parents=True, exist_ok=True)
        found.rename(target)
    tries.remove_all()
    return StagedFiles(location, files, columns, split, left_out)


def with_own(schema: pa.Schema, own: Mapping[str, str]) -> pa.Schema:
    """The columns of files: the columns of the rows, and columns of one text each."""
    return pa.schema([*schema, *(pa.field(name, pa.string()) for name in own)])


def write(
    batches: Iterable[pa.RecordBatch],
    schema: pa.Schema,
    own: Mapping[str, str],
    location: Location,
    file_bytes: int | None = None,
    split: Split | None = None,
) -> Iterator[StagedFile]:
    """Write batches into new files, 64 MB of rows at a time, while the next are read; without rows, no file.

    Of rows that are split, one more copy is in memory, and up to 16 partitions have a file that is being written. Rows
    of more partitions at a time go into a file for each 64 MB.

    Args:
        batches: the rows.
        schema: the columns of the rows, as `with_own` gave them.
        own: the text of each column that the batches do not have.
        location: the location of the files.
        file_bytes: bytes of a file after which the next one begins; None: all rows go into one file.
        split: the partitions, which have files of their own; None: there are none.
    """
    with _Files(location, schema, split, file_bytes) as files, ThreadPoolExecutor(1) as writer:
        pending: Future[list[StagedFile]] | None = None
        for group in _groups(batches, schema, own):
            if pending is not None:
                yield from pending.result()
            pending = writer.submit(files.take, group)
        if pending is not None:
            yield from pending.result()
        yield from files.finish()


class _File:
    """A file that is being written."""

    def __init__(self, location: Location, name: str, schema: pa.Schema, partition: tuple[Any, ...]) -> None:
        self.name, self.partition = name, partition
        self._open = ExitStack()
        self._sink = self._open.enter_context(location.sink(name))
        self._writer = self._open.enter_context(parquet.ParquetWriter(self._sink, schema, store_schema=False))

    @property
    def size(self) -> int:
        return int(self._sink.tell())

    def write(self, rows: pa.Table) -> None:
        self._writer.write_table(rows, row_group_size=rows.num_rows)

    def close(self) -> StagedFile:
        self._writer.close()
        size = self.size
        self._open.close()
        return StagedFile(self.name, size, footer_of(self._writer.writer.metadata), self.partition)

    def abandon(self, *error: Any) -> None:
        """Stop writing because of an error, so that a store does not get the file."""
        self._open.__exit__(*error)


class _Files:
    """Files of some partitions that are being written; an error abandons them."""

    def __init__(self, location: Location, schema: pa.Schema, split: Split | None, most: int | None) -> None:
        left_out = () if split is None else split.left_out(schema)
        self._location, self._schema, self._most_bytes = location, _without(schema, left_out), most
        self._left_out, self._split = [each.name for _, each in left_out], split
        self._run, self._number = uuid.uuid4().hex, 0
        self._open: dict[tuple[Any, ...], _File] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        while self._open:
            self._open.popitem()[1].abandon(*error)

    def take(self, group: pa.Table) -> list[StagedFile]:
        """Write rows of any partitions; the files that are done."""
        parts = [((), group)] if self._split is None else self._split.parts(group)
        done = list(self._make_room([key for key, _ in parts]))
        for key, rows in parts:
            done += self._write(key, rows)
        return done

    def _make_room(self, keys: Collection[tuple[Any, ...]]) -> Iterator[StagedFile]:
        """Close files of partitions that no rows come for, if others need their room."""
        idle = [key for key in self._open if key not in keys]
        if len(idle) + len(keys) > _MOST_OPEN:
            for key in idle:
                yield self._close(key)

    def _write(self, key: tuple[Any, ...], rows: pa.Table) -> Iterator[StagedFile]:
        """Write rows of a partition; gives the file when it is done."""
        file = self._open.pop(key, None)
        if file is None:
            folder = "" if self._split is None else self._split.folder(key)
            name = f"{folder}part-{self._run}-{self._number:05}.parquet"
            file = _File(self._location, name, self._schema, key)
            self._number += 1
        keeps = len(self._open) < _MOST_OPEN
        self._open[key] = file
        file.write(rows.drop_columns(self._left_out))
        if not keeps or (self._most_bytes is not None and file.size >= self._most_bytes):
            yield self._close(key)

    def finish(self) -> Iterator[StagedFile]:
        """Close all files."""
        for key in list(self._open):
            yield self._close(key)

    def _close(self, key: tuple[Any, ...]) -> StagedFile:
        staged = self._open[key].close()
        del self._open[key]
        return staged


def _groups(batches: Iterable[pa.RecordBatch], schema: pa.Schema, own: Mapping[str, str]) -> Iterator[pa.Table]:
    """The rows with more columns, as many at a time as a group of rows has."""
    some: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        constants = [pa.repeat(pa.scalar(text, pa.string()), batch.num_rows) for text in own.values()]
        some.append(pa.RecordBatch.from_arrays([*batch.columns, *constants], schema=schema))
        size += batch.nbytes
        if size >= _GROUP_BYTES:
            yield pa.Table.from_batches(some)
            some, size = [], 0
    if some:
        yield pa.Table.from_batches(some)


def _without(schema: pa.Schema, left_out: Iterable[tuple[int, pa.Field]]) -> pa.Schema:
    names = {each.name for _, each in left_out}
    return pa.schema([each for each in schema if each.name not in names])


def _empty(location: Location, schema: pa.Schema) -> StagedFile:
    """A file without rows, which shows the columns."""
    return _File(location, f"part-{uuid.uuid4().hex}-00000.parquet", schema, ()).close()


def _footer(schema: pa.Schema) -> bytes:
    """The footer of a file without rows."""
    with parquet.ParquetWriter(pa.BufferOutputStream(), schema, store_schema=False) as writer:
        pass
    return footer_of(writer.writer.metadata)

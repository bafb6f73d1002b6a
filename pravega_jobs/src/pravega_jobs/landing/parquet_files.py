"""Rows of a landing as Parquet files: the one writer for tasks of Spark and for this process.

A task that is tried again writes other files. Only files whose names reach this process count. On a file system
they are written in a folder below the location, and those that count are moved out of it: a try that Spark has given up
may continue writing there, and nobody reads it.
"""

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

import pyarrow as pa
from pyarrow import parquet

from aiopravega.errors import LandingError
from pravega_jobs.landing.locations import FolderLocation, Location
from pravega_jobs.landing.rules import Landing
from pravega_jobs.landing.staged_files import StagedFile, StagedFiles, footer_of

# Bytes of Arrow's columns that become a group of rows in a file.
_GROUP_BYTES: Final = 64 * 1024 * 1024
_TRIES: Final = "tries"


def stage(
    landing: Landing, location: Location, schema: pa.Schema, work: Callable[[Location], Iterable[StagedFile]]
) -> StagedFiles:
    """Have files written in a new location; without rows, it gets one file without rows.

    Args:
        landing: the landing of the rows, for messages.
        location: the location, which does not exist yet.
        schema: the columns of the files.
        work: writes the files in the location that it is given, and returns those that count.

    Raises:
        LandingError: the files that were written are not where this process looks for them.
    """
    if not isinstance(location, FolderLocation):
        return StagedFiles(location, tuple(work(location)) or (_empty(location, schema),))
    tries = location.child(_TRIES)
    tries.path.mkdir(parents=True)
    files = tuple(work(tries)) or (_empty(tries, schema),)
    for each in files:
        written = tries.path / each.name
        if not written.exists() or written.stat().st_size != each.size:
            raise LandingError(
                f"{landing}: {sum(each.rows for each in files)} rows were written into {tries.path}, but this process "
                f"does not find {each.name} there as it was written. Spark's executors and this process must share "
                "this folder. The table was not changed"
            )
        written.rename(location.path / each.name)
    tries.remove_all()
    return StagedFiles(location, files)


def with_own(schema: pa.Schema, own: Mapping[str, str]) -> pa.Schema:
    """The columns of files: the columns of the rows, and columns of one text each."""
    return pa.schema([*schema, *(pa.field(name, pa.string()) for name in own)])


def write(
    batches: Iterable[pa.RecordBatch],
    schema: pa.Schema,
    own: Mapping[str, str],
    location: Location,
    file_bytes: int | None = None,
) -> Iterator[StagedFile]:
    """Write batches into new files, 64 MB of rows in memory at a time; without rows, no file.

    Args:
        batches: the rows.
        schema: the columns of the files, as `with_own` gave them.
        own: the text of each column that the batches do not have.
        location: the location of the files.
        file_bytes: bytes of a file after which the next one begins; None: all rows go into one file.
    """
    groups, run = _groups(batches, schema, own), uuid.uuid4().hex
    group, number = next(groups, None), 0
    while group is not None:
        name = f"part-{run}-{number:05}.parquet"
        with location.sink(name) as sink:
            with parquet.ParquetWriter(sink, schema, store_schema=False) as writer:
                while group is not None and (file_bytes is None or sink.tell() < file_bytes):
                    writer.write_table(group, row_group_size=group.num_rows)
                    group = next(groups, None)
            size = sink.tell()
        yield StagedFile(name, size, footer_of(writer.writer.metadata))
        number += 1


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


def _empty(location: Location, schema: pa.Schema) -> StagedFile:
    """A file without rows, which shows the columns."""
    name = f"part-{uuid.uuid4().hex}-00000.parquet"
    with location.sink(name) as sink:
        with parquet.ParquetWriter(sink, schema, store_schema=False) as writer:
            pass
        size = sink.tell()
    return StagedFile(name, size, footer_of(writer.writer.metadata))

"""Inputs and outputs of tasks for OpenLineage, if its provider is installed.

Here are the values that operators keep, which do not know OpenLineage; `facets` turns them into OpenLineage's datasets,
and is imported when OpenLineage asks; `reporting` has the functions that OpenLineage's provider calls.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from aiopravega import PravegaConfig, StreamCutRange, StreamName

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Columns = tuple[tuple[str, str], ...]


class StreamChange(StrEnum):
    """A change of a stream, in OpenLineage's words."""

    CREATE = "CREATE"
    ALTER = "ALTER"
    TRUNCATE = "TRUNCATE"
    DROP = "DROP"


@dataclass(frozen=True, slots=True)
class StreamData:
    """Data of a stream: a range, the events in it, their bytes (headers included), their columns and their interval."""

    namespace: str
    stream: StreamName
    cuts: StreamCutRange | None = None
    events: int | None = None
    bytes: int | None = None
    columns: Columns = ()
    interval: tuple[tuple[str, str], ...] = ()
    change: StreamChange | None = None


@dataclass(frozen=True, slots=True)
class FileData:
    """Files of a folder, with their number of rows and their columns."""

    path: str
    rows: int | None = None
    columns: Columns = ()


@dataclass(frozen=True, slots=True)
class TableData:
    """A table of a database or of a catalog, with the number of rows that it got, and its columns."""

    namespace: str
    name: str
    rows: int | None = None
    columns: Columns = ()


Data = StreamData | FileData | TableData


@dataclass(frozen=True, slots=True)
class Lineage:
    """The inputs and outputs of a task.

    `unchanged` are the columns of the outputs that have the values of the inputs' columns of the same name.
    """

    inputs: tuple[Data, ...] = ()
    outputs: tuple[Data, ...] = ()
    unchanged: frozenset[str] = frozenset()


def namespace_of(config: PravegaConfig) -> str:
    """The namespace of a cluster's streams, by the address of the controller: `pravega://host:port`."""
    return f"pravega://{config.controller_target}"


def range_read(
    config: PravegaConfig, stream: StreamName, cuts: StreamCutRange, given: object, **counts: Any
) -> StreamData:
    """A range that a task reads; `given` is the task's argument for the range, which may name an interval."""
    names = given if isinstance(given, Mapping) else {}
    interval = tuple((name, str(names[name])) for name in ("consumer", "interval", "since", "until") if name in names)
    return StreamData(namespace_of(config), stream, cuts, interval=interval, **counts)


def written_once(
    config: PravegaConfig, result: Mapping[str, Any], columns: Iterable[tuple[str, str]] = ()
) -> StreamData:
    """The data of a write, by the result of `PravegaSparkWriteOperator` or `PravegaWriteEventsOperator`."""
    cuts = result["cuts"] and StreamCutRange.from_json(result["cuts"])
    stream = StreamName.parse(result["stream"])
    return StreamData(namespace_of(config), stream, cuts, result["events"], result["bytes"], tuple(columns))


def changed_stream(config: PravegaConfig, stream: StreamName, change: StreamChange) -> Lineage:
    """A stream that a task has made, changed or removed."""
    return Lineage(outputs=(StreamData(namespace_of(config), stream, change=change),))


def columns_of(frame: "DataFrame", *without: str) -> Columns:
    """The names and Spark's types of a frame's columns."""
    return tuple(
        (field.name, field.dataType.simpleString()) for field in frame.schema.fields if field.name not in without
    )

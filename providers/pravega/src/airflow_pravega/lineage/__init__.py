"""Inputs and outputs of tasks for OpenLineage, if its provider is installed.

Operators keep values of what they read and write while they work. `facets` turns them into OpenLineage's datasets, and
is imported when OpenLineage asks, by the functions here that OpenLineage's provider calls.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from aiopravega import PravegaConfig, StreamCutRange, StreamName
from airflow_pravega.hooks.pravega import PravegaHook

if TYPE_CHECKING:
    from airflow.sdk import Asset
    from openlineage.client.event_v2 import Dataset
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
class Lineage:
    """The inputs and outputs of a task."""

    inputs: tuple[StreamData | FileData, ...] = ()
    outputs: tuple[StreamData | FileData, ...] = ()


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


class ReportsLineage:
    """An operator that keeps in `lineage` what it reads and writes, for OpenLineage."""

    lineage = Lineage()

    def get_openlineage_facets_on_complete(self, task_instance: Any) -> Any:
        """The datasets of the task; OpenLineage's provider calls it, also after a failure."""
        from airflow_pravega.lineage.facets import operator_lineage

        return operator_lineage(self.lineage)


def convert_asset_to_openlineage(asset: "Asset", lineage_context: Any) -> "Dataset":
    """The dataset of an asset `pravega://scope/stream`, which names no cluster: a connection does.

    The dataset's namespace is the cluster of a connection: of the one that the asset's `extra` names as
    `pravega_conn_id`; otherwise of the operator or hook that has reported the asset; otherwise of the default one.

    Raises:
        AirflowNotFoundException: there is no such connection; OpenLineage leaves the asset out.
        ConfigurationError: the connection cannot work.
    """
    from openlineage.client.event_v2 import Dataset

    given = (asset.extra or {}).get(PravegaHook.conn_name_attr)
    connection = given or getattr(lineage_context, PravegaHook.conn_name_attr, None) or PravegaHook.default_conn_name
    uri = urlsplit(asset.uri)
    stream = StreamName.parse(f"{uri.netloc}{uri.path}")
    return Dataset(namespace_of(PravegaHook(str(connection)).get_config()), str(stream))

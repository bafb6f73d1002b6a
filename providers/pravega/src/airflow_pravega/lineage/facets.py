"""Lineage of operators as OpenLineage's datasets with their facets. Imported only where OpenLineage is installed."""

from typing import Any
from urllib.parse import urlsplit

import attr
from airflow.providers.openlineage.extractors import OperatorLineage
from openlineage.client.event_v2 import Dataset, InputDataset, OutputDataset
from openlineage.client.facet_v2 import (
    DatasetFacet,
    column_lineage_dataset,
    input_statistics_input_dataset,
    lifecycle_state_change_dataset,
    output_statistics_output_dataset,
    schema_dataset,
)

from airflow_pravega.lineage import Columns, Data, Lineage, StreamData, TableData

# Schemes of addresses that have a container before the `@`, and not a user.
_CONTAINERS = ("abfs", "abfss", "wasb", "wasbs")


@attr.define
class PravegaRangeDatasetFacet(DatasetFacet):
    """The range of a stream: its cuts as texts that readers take, and as people read them.

    `consumer` and `interval` name the interval of the cut ledger, `since` and `until` its event times, if it has any.
    """

    start: str
    end: str
    description: str
    consumer: str | None = attr.field(default=None)
    interval: str | None = attr.field(default=None)
    since: str | None = attr.field(default=None)
    until: str | None = attr.field(default=None)


def operator_lineage(lineage: Lineage) -> "OperatorLineage[Any, Any]":
    """The datasets of a task."""
    return OperatorLineage(
        inputs=[_input(data) for data in lineage.inputs],
        outputs=[_output(data, _columns_from(lineage)) for data in lineage.outputs],
    )


def _columns_from(lineage: Lineage) -> dict[str, DatasetFacet]:
    """The columns of an output, by the columns of the only input that have the same values."""
    if not lineage.unchanged or len(lineage.inputs) != 1:
        return {}
    namespace, name = _names(lineage.inputs[0])
    same = column_lineage_dataset.Transformation("DIRECT", "IDENTITY")
    fields = {
        column: column_lineage_dataset.Fields([column_lineage_dataset.InputField(namespace, name, column, [same])])
        for column in sorted(lineage.unchanged)
    }
    return {"columnLineage": column_lineage_dataset.ColumnLineageDatasetFacet(fields)}


def _input(data: Data) -> Dataset:
    namespace, name = _names(data)
    rows, size = _counts(data)
    counted = input_statistics_input_dataset.InputStatisticsInputDatasetFacet(rowCount=rows, size=size)
    return InputDataset(
        namespace,
        name,
        facets=_facets(data),
        inputFacets={} if rows is None and size is None else {"inputStatistics": counted},
    )


def _output(data: Data, columns: dict[str, DatasetFacet]) -> Dataset:
    namespace, name = _names(data)
    rows, size = _counts(data)
    counted = output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(rowCount=rows, size=size)
    return OutputDataset(
        namespace,
        name,
        facets={**_facets(data), **columns},
        outputFacets={} if rows is None and size is None else {"outputStatistics": counted},
    )


def _names(data: Data) -> tuple[str, str]:
    if isinstance(data, StreamData):
        return data.namespace, str(data.stream)
    if isinstance(data, TableData):
        return data.namespace, data.name
    return folder_names(data.path)


def folder_names(path: str) -> tuple[str, str]:
    """Namespace and name of a folder, by OpenLineage's naming; credentials in the address are left out."""
    split = urlsplit(path)
    if split.scheme in ("", "file"):
        return "file", split.path
    host = split.netloc if split.scheme in _CONTAINERS and ":" not in split.netloc.partition("@")[0] else None
    if host is None:
        host = split.netloc.rpartition("@")[2]
    return f"{split.scheme}://{host}", split.path.strip("/") or "/"


def _counts(data: Data) -> tuple[int | None, int | None]:
    return (data.events, data.bytes) if isinstance(data, StreamData) else (data.rows, None)


def _facets(data: Data) -> dict[str, DatasetFacet]:
    facets: dict[str, DatasetFacet] = {}
    if data.columns:
        facets["schema"] = _schema(data.columns)
    if isinstance(data, StreamData):
        if data.cuts is not None:
            names = dict(data.interval)
            facets["pravega_range"] = PravegaRangeDatasetFacet(
                start=data.cuts.start.to_text(),
                end=data.cuts.end.to_text(),
                description=f"{data.cuts.start} to {data.cuts.end}",
                consumer=names.get("consumer"),
                interval=names.get("interval"),
                since=names.get("since"),
                until=names.get("until"),
            )
        if data.change is not None:
            change = lifecycle_state_change_dataset.LifecycleStateChange(data.change.value)
            facets["lifecycleStateChange"] = lifecycle_state_change_dataset.LifecycleStateChangeDatasetFacet(change)
    return facets


def _schema(columns: Columns) -> schema_dataset.SchemaDatasetFacet:
    return schema_dataset.SchemaDatasetFacet(
        fields=[schema_dataset.SchemaDatasetFacetFields(name=name, type=kind) for name, kind in columns]
    )

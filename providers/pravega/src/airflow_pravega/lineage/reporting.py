"""Functions that OpenLineage's provider calls: for the datasets of a task, and for the dataset of an asset."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from airflow.providers.common.compat.sdk import conf

from aiopravega import StreamName
from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.lineage import Lineage, namespace_of

if TYPE_CHECKING:
    from airflow.sdk import Asset, Context
    from openlineage.client.event_v2 import Dataset


class ReportsLineage:
    """An operator that keeps in `lineage` what it reads and writes, for OpenLineage."""

    lineage = Lineage()

    def get_openlineage_facets_on_complete(self, task_instance: Any) -> Any:
        """The datasets of the task; OpenLineage's provider calls it, also after a failure."""
        from airflow_pravega.lineage.facets import operator_lineage

        return operator_lineage(self.lineage)


def openlineage_wants() -> tuple[bool, bool]:
    """True if Spark is to know the parent job, and True if it is to know the transport, as Airflow is configured."""
    names = ("spark_inject_parent_job_info", "spark_inject_transport_info")
    parent, transport = (conf.getboolean("openlineage", name, fallback=False) for name in names)
    return parent, transport


def facts_for_spark(settings: Mapping[Any, Any], context: "Context", parent: bool, transport: bool) -> dict[str, str]:
    """Settings of Spark that tell OpenLineage's listener there about the task: its parent job, where events go.

    Args:
        settings: settings that are given; their names win.
        context: the task's context.
        parent: add the parent job, as `[openlineage] spark_inject_parent_job_info` says.
        transport: add the transport, as `[openlineage] spark_inject_transport_info` says.
    """
    if not parent and not transport:
        return {}
    from airflow.providers.common.compat.openlineage.utils.spark import (
        inject_parent_job_information_into_spark_properties,
        inject_transport_information_into_spark_properties,
    )

    given = {str(name): value for name, value in settings.items()}
    found = dict(given)
    if parent:
        found = inject_parent_job_information_into_spark_properties(found, context)
    if transport:
        found = inject_transport_information_into_spark_properties(found, context)
    return {name: str(value) for name, value in found.items() if name not in given}


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

"""Functions that OpenLineage's provider calls: for the datasets of a task, and for the dataset of an asset."""

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from aiopravega import StreamName
from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.lineage import Lineage, namespace_of

if TYPE_CHECKING:
    from airflow.sdk import Asset
    from openlineage.client.event_v2 import Dataset


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

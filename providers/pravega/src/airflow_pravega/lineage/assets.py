"""The OpenLineage dataset of an asset `pravega://scope/stream`, which names no cluster: that of a connection."""

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from aiopravega import StreamName
from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.lineage.found import namespace_of

if TYPE_CHECKING:
    from airflow.sdk import Asset
    from openlineage.client.event_v2 import Dataset


def convert_asset_to_openlineage(asset: "Asset", lineage_context: Any) -> "Dataset":
    """The dataset of an asset that is a stream; OpenLineage's provider calls it.

    The namespace is that of the connection which the asset's `extra` names as `pravega_conn_id`, else that of the
    operator or hook that has reported it, else the default one.

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

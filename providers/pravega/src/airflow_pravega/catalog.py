"""The streams of a scope as Airflow's assets, with their descriptions in the catalog."""

from contextlib import ExitStack
from typing import Any, Final

from airflow.sdk import Asset

from aiopravega.blocking import PravegaClient
from aiopravega.blocking.catalog import PravegaCatalog
from aiopravega.blocking.registry import SchemaRegistry
from aiopravega.catalog import StreamTable
from airflow_pravega.connections.pravega import SCHEMA_REGISTRY, connection_extras
from airflow_pravega.hooks.pravega import PravegaHook

_GROUP: Final = "pravega"


def scope_assets(
    scope: str, *, tag: str | None = None, pravega_conn_id: str = PravegaHook.default_conn_name
) -> list[Asset]:
    """Make an asset for every stream that a scope has now: `pravega://scope/stream`.

    The `extra` of an asset has the stream's tags and number of segments. If the connection names a Schema Registry that
    has a group for the stream, it also has format, policy, types with versions, and the fields of the events. This
    function asks the cluster: in a file of DAGs, whenever Airflow parses the file.

    Args:
        scope: name of the scope.
        tag: only streams with this tag.
        pravega_conn_id: id of the connection.

    Raises:
        AirflowNotFoundException: there is no such connection.
        ScopeNotFoundError: there is no such scope.
        PravegaError: the cluster or the registry does not answer.
    """
    hook = PravegaHook(pravega_conn_id)
    with ExitStack() as stack:
        client = stack.enter_context(PravegaClient(hook.get_config()))
        registry = None
        if SCHEMA_REGISTRY in connection_extras(hook.get_connection(pravega_conn_id)):
            registry = stack.enter_context(SchemaRegistry(hook.get_registry_config()))
        tables = PravegaCatalog(client, registry).list_tables(scope, tag)
    return [Asset(uri=f"pravega://{table.stream}", group=_GROUP, extra=_extra(table)) for table in tables]


def _extra(table: StreamTable) -> dict[str, Any]:
    content = table.to_json()
    return {name: content[name] for name in ("segments", "tags", "schema", "columns")}

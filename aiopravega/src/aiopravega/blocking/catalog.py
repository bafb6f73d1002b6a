"""The blocking form of the catalog."""

from aiopravega import catalog as aio
from aiopravega.blocking.bridge import Face, waits
from aiopravega.blocking.client import PravegaClient
from aiopravega.blocking.registry import SchemaRegistry


class PravegaCatalog(Face[aio.PravegaCatalog]):
    """Scopes as namespaces, streams as tables.

    Args:
        client: of the cluster; it stays open.
        registry: the registry of the streams' schemas; None: the catalog knows no schemas.
    """

    def __init__(self, client: PravegaClient, registry: SchemaRegistry | None = None) -> None:
        schemas = None if registry is None else registry.asynchronous
        super().__init__(client.loop, aio.PravegaCatalog(client.asynchronous, schemas))

    list_scopes = waits(aio.PravegaCatalog.list_scopes)
    list_tables = waits(aio.PravegaCatalog.list_tables)
    describe = waits(aio.PravegaCatalog.describe)
    create = waits(aio.PravegaCatalog.create)
    drop = waits(aio.PravegaCatalog.drop)

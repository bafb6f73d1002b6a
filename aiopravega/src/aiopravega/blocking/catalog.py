"""The blocking form of the catalog; see `aiopravega.catalog` for what the calls mean."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from aiopravega import catalog as asynchronous
from aiopravega.blocking.client import PravegaClient
from aiopravega.catalog import StreamTable
from aiopravega.control import RetentionPolicy, ScalingPolicy
from aiopravega.names import StreamName

if TYPE_CHECKING:
    from aiopravega.blocking.registry import SchemaRegistry
    from aiopravega.schema import SchemaInfo


class PravegaCatalog:
    """Scopes as namespaces, streams as tables; client and registry stay open."""

    def __init__(self, client: PravegaClient, registry: "SchemaRegistry | None" = None) -> None:
        self._client = client
        self._catalog = asynchronous.PravegaCatalog(
            client.asynchronous, None if registry is None else registry.asynchronous
        )

    def list_scopes(self) -> list[str]:
        """The names of all scopes that the credentials may see."""
        return self._client.run(self._catalog.list_scopes())

    def list_tables(self, scope: str, tag: str | None = None) -> list[StreamTable]:
        """The streams of a scope, or those with a tag, by name."""
        return self._client.run(self._catalog.list_tables(scope, tag))

    def describe(self, stream: StreamName | str) -> StreamTable:
        """All about a stream."""
        return self._client.run(self._catalog.describe(stream))

    def create(
        self,
        stream: StreamName | str,
        schema: "SchemaInfo | None" = None,
        *,
        scaling: ScalingPolicy | None = None,
        retention: RetentionPolicy | None = None,
        tags: Iterable[str] = (),
        new_policy: str | None = None,
        declared_only: bool = False,
    ) -> StreamTable:
        """Make a stream, with the group and the schema of its events; or none of them, if one cannot be made."""
        return self._client.run(
            self._catalog.create(
                stream,
                schema,
                scaling=scaling,
                retention=retention,
                tags=tags,
                new_policy=new_policy,
                declared_only=declared_only,
            )
        )

    def drop(self, stream: StreamName | str, *, keep_schemas: bool = False) -> bool:
        """Delete a stream with all its events, and its schemas; returns False if there was neither."""
        return self._client.run(self._catalog.drop(stream, keep_schemas=keep_schemas))

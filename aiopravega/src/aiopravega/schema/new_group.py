"""A group that was made for a schema, and goes again if the schema is refused."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from aiopravega.errors import PravegaError
from aiopravega.schema.registry import SchemaRegistry


@asynccontextmanager
async def removed_if_refused(
    registry: SchemaRegistry, group: str, namespace: str, *, made: bool
) -> AsyncIterator[None]:
    """Run a block that adds the first schema to a group; if it fails, remove the group, if it was `made` for that.

    A group in which somebody else has put a schema in the meantime stays.
    """
    try:
        yield
    except BaseException:
        if made:
            with suppress(PravegaError):  # what is told is why the schema could not be added
                if not await registry.versions(group, namespace):
                    await registry.delete_group(group, namespace)
        raise

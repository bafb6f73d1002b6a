"""The streams of a scope as external assets, with the schemas of their events."""

import re
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, Final

from dagster import AssetKey, AssetSpec, TableColumn, TableColumnConstraints, TableSchema

from aiopravega.blocking.catalog import PravegaCatalog
from aiopravega.catalog import StreamTable
from dagster_pravega.columns import SCHEMA_KEY
from dagster_pravega.resource import PravegaResource
from dagster_pravega.schema_registry import SchemaRegistryResource
from dagster_pravega.spec import pravega_stream_spec

# What Dagster takes as the second part of a tag's key.
_AS_TAG: Final = re.compile(r"[A-Za-z0-9_.-]{1,63}")


def build_external_assets(
    scope: str,
    *,
    pravega: PravegaResource | None = None,
    schema_registry: SchemaRegistryResource | None = None,
    tag: str | None = None,
    key_prefix: Sequence[str] = (),
    group_name: str | None = None,
) -> list[AssetSpec]:
    """The streams of a scope as external assets, as they are now: it asks the cluster when definitions are loaded.

    An asset has the stream's tags (as tags `pravega/…`, and in its metadata), its number of segments, and if there is
    a registry that has a group for it the format as a kind, type, version and policy, and the fields of the events as
    its columns.

    Args:
        scope: whose streams they are.
        pravega: the cluster; by default what the environment says.
        schema_registry: where the schemas are; None: assets have none.
        tag: only streams with this tag.
        key_prefix: put before the assets' keys, which are scope and stream.
        group_name: group of the assets.

    Raises:
        ScopeNotFoundError: there is no such scope.
        PravegaError: the cluster or the registry cannot be asked.
    """
    with ExitStack() as stack:
        cluster = stack.enter_context((pravega or PravegaResource()).process_config_and_initialize_cm())
        registry = None
        if schema_registry is not None:
            registry = stack.enter_context(schema_registry.process_config_and_initialize_cm()).registry
        tables = PravegaCatalog(cluster.client, registry).list_tables(scope, tag)
    return [_spec(table, key_prefix, group_name) for table in tables]


def _spec(table: StreamTable, key_prefix: Sequence[str], group_name: str | None) -> AssetSpec:
    name = table.stream
    metadata: dict[str, Any] = {"pravega/segments": table.segments, "pravega/tags": list(table.tags)}
    kinds = set()
    if table.group is not None:
        kinds.add(table.group.properties.format.value.lower())
        versions = [each.version_info for each in table.group.latest]
        metadata["pravega/policy"] = table.group.policy
        metadata["pravega/schemas"] = [f"{version.type} v{version.version}" for version in versions]
    if table.columns:
        metadata[SCHEMA_KEY] = TableSchema(
            columns=[
                TableColumn(
                    one.name, one.type, one.description, constraints=TableColumnConstraints(nullable=one.nullable)
                )
                for one in table.columns
            ]
        )
    spec = pravega_stream_spec(
        str(name),
        key=AssetKey([*key_prefix, name.scope, name.stream]),
        group_name=group_name,
        tags={f"pravega/{tag}": "" for tag in table.tags if _AS_TAG.fullmatch(tag)},
        metadata=metadata,
    )
    return spec.replace_attributes(kinds=spec.kinds | kinds)

"""The streams of a scope as external assets, with the schemas of their events."""

import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any, Final

from dagster import AssetKey, AssetSpec, TableColumn, TableColumnConstraints, TableSchema

from aiopravega.blocking.catalog import PravegaCatalog
from aiopravega.catalog import StreamTable
from dagster_pravega.metadata.columns import SCHEMA_KEY
from dagster_pravega.metadata.spec import pravega_stream_spec
from dagster_pravega.resources.resource import PravegaResource
from dagster_pravega.resources.schema_registry import SchemaRegistryResource

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

    `PravegaScopeComponent` keeps them instead, so that definitions are loaded without the cluster. An asset has the
    stream's tags (as tags `pravega/…`, and in its metadata), its number of segments, and if there is
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
    found = describe_streams(scope, pravega or PravegaResource(), schema_registry, tag)
    return [spec_of(each, key_prefix, group_name) for each in found]


def describe_streams(
    scope: str, pravega: PravegaResource, schema_registry: SchemaRegistryResource | None, tag: str | None
) -> list[dict[str, Any]]:
    """What the assets of a scope's streams are made of, as plain JSON.

    Raises:
        ScopeNotFoundError: there is no such scope.
        PravegaError: the cluster or the registry cannot be asked.
    """
    with ExitStack() as stack:
        cluster = stack.enter_context(pravega.process_config_and_initialize_cm())
        registry = None
        if schema_registry is not None:
            registry = stack.enter_context(schema_registry.process_config_and_initialize_cm()).registry
        return [_described(table) for table in PravegaCatalog(cluster.client, registry).list_tables(scope, tag)]


def _described(table: StreamTable) -> dict[str, Any]:
    found: dict[str, Any] = {"stream": str(table.stream), "segments": table.segments, "tags": list(table.tags)}
    if table.group is not None:
        versions = [each.version_info for each in table.group.latest]
        found["group"] = {
            "format": table.group.properties.format.value,
            "policy": table.group.policy,
            "schemas": [f"{version.type} v{version.version}" for version in versions],
        }
    found["columns"] = [[one.name, one.type, one.nullable, one.description] for one in table.columns]
    return found


def spec_of(found: Mapping[str, Any], key_prefix: Sequence[str], group_name: str | None) -> AssetSpec:
    """The asset of a stream that `describe_streams` has described."""
    metadata: dict[str, Any] = {"pravega/segments": found["segments"], "pravega/tags": found["tags"]}
    group = found.get("group")
    if group is not None:
        metadata["pravega/policy"], metadata["pravega/schemas"] = group["policy"], group["schemas"]
    if found["columns"]:
        metadata[SCHEMA_KEY] = TableSchema(
            columns=[
                TableColumn(name, kind, description, constraints=TableColumnConstraints(nullable=nullable))
                for name, kind, nullable, description in found["columns"]
            ]
        )
    spec = pravega_stream_spec(
        found["stream"],
        key=AssetKey([*key_prefix, *found["stream"].split("/")]),
        group_name=group_name,
        tags={f"pravega/{tag}": "" for tag in found["tags"] if _AS_TAG.fullmatch(tag)},
        metadata=metadata,
    )
    return spec.replace_attributes(kinds=spec.kinds | ({group["format"].lower()} if group else set()))

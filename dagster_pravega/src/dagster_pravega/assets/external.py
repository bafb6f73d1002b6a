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

# The second part of a tag's key, as Dagster accepts it.
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

    `PravegaScopeComponent` stores them instead, so that definitions are loaded without the cluster. An asset has the
    stream's tags (as tags `pravega/…`, and in its metadata) and its number of segments. If a registry has a group for
    the stream, the asset also has the format as a kind, type, version and policy, and the fields of the events as its
    columns.

    Args:
        scope: of the streams.
        pravega: the cluster; by default the one of the environment.
        schema_registry: the registry with the schemas; None: assets have no columns.
        tag: only streams with this tag.
        key_prefix: put before the assets' keys, which are scope and stream.
        group_name: group of the assets.

    Raises:
        ScopeNotFoundError: there is no such scope.
        PravegaError: the cluster or the registry cannot be asked.
    """
    described = describe_streams(scope, pravega or PravegaResource(), schema_registry, tag)
    return [spec_of(each, key_prefix, group_name) for each in described]


def describe_streams(
    scope: str, pravega: PravegaResource, schema_registry: SchemaRegistryResource | None, tag: str | None
) -> list[dict[str, Any]]:
    """Descriptions of a scope's streams as plain JSON, one for each; `spec_of` makes assets of them.

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
    described: dict[str, Any] = {"stream": str(table.stream), "segments": table.segments, "tags": list(table.tags)}
    if table.group is not None:
        versions = [each.version_info for each in table.group.latest]
        described["group"] = {
            "format": table.group.properties.format.value,
            "policy": table.group.policy,
            "schemas": [f"{version.type} v{version.version}" for version in versions],
        }
    described["columns"] = [[one.name, one.type, one.nullable, one.description] for one in table.columns]
    return described


def spec_of(described: Mapping[str, Any], key_prefix: Sequence[str], group_name: str | None) -> AssetSpec:
    """The asset of a stream that `describe_streams` has described."""
    metadata: dict[str, Any] = {"pravega/segments": described["segments"], "pravega/tags": described["tags"]}
    group = described.get("group")
    if group is not None:
        metadata["pravega/policy"], metadata["pravega/schemas"] = group["policy"], group["schemas"]
    if described["columns"]:
        metadata[SCHEMA_KEY] = TableSchema(
            columns=[
                TableColumn(name, kind, description, constraints=TableColumnConstraints(nullable=nullable))
                for name, kind, nullable, description in described["columns"]
            ]
        )
    spec = pravega_stream_spec(
        described["stream"],
        key=AssetKey([*key_prefix, *described["stream"].split("/")]),
        group_name=group_name,
        tags={f"pravega/{tag}": "" for tag in described["tags"] if _AS_TAG.fullmatch(tag)},
        metadata=metadata,
    )
    return spec.replace_attributes(kinds=spec.kinds | ({group["format"].lower()} if group else set()))

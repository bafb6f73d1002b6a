"""A check for differences between the schema in the registry and the columns of an asset."""

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any, Final

from dagster import (
    AssetCheckExecutionContext,
    AssetCheckResult,
    AssetChecksDefinition,
    AssetCheckSeverity,
    TableSchema,
    asset_check,
)

from aiopravega import StreamName
from aiopravega.errors import ConfigurationError
from aiopravega.schema.open import GroupAddress, need_group
from dagster_pravega.checks.gates import checked_key
from dagster_pravega.metadata.columns import SCHEMA_KEY
from dagster_pravega.metadata.failures import failing_for_good
from dagster_pravega.metadata.measures import table_of
from dagster_pravega.metadata.ranges import checked_materialization
from dagster_pravega.metadata.spec import STREAM_KEY, AssetLike, plain
from dagster_pravega.resources.schema_registry import SchemaRegistryResource

# A column of every write, which schemas do not have.
_ROUTING_KEY: Final = "routing_key"
_COLUMNS: Final = ("name", "drift", "registry", "materialized")


def build_schema_drift_check(
    asset: AssetLike,
    *,
    stream: str,
    ignore: Sequence[str] = (),
    group: str | None = None,
    namespace: str | None = None,
    type_name: str | None = None,
    name: str = "schema_drift",
    blocking: bool = False,
    schema_registry_key: str = "schema_registry",
) -> AssetChecksDefinition:
    """A check that compares the registry's newest schema with the columns that the asset was materialized with.

    It fails as a warning if the registry has new columns. It fails as an error if a column is missing there, or has
    another type, and if no columns are known. The asset's columns are in the metadata `dagster/column_schema`, which
    both IO managers write; types are compared by their names in Arrow, Polars and Spark. It needs the extra `arrow`.
    Its metadata are the columns that differ.

    Args:
        asset: the asset with the columns, such as one that is written to the stream, or a table derived from it.
        stream: `scope/stream`, which has the schema.
        ignore: columns that may differ, such as columns that the asset computes.
        group: name of the registry's group; by default the stream's.
        namespace: of the group; by default the scope's name, and if the group is not there, the default namespace.
        type_name: of the schema, if the group has several.
        name: of the check.
        blocking: an error prevents downstream assets from running.
        schema_registry_key: of the `SchemaRegistryResource`.

    Raises:
        ConfigurationError: the stream is not `scope/stream`, or the extra `arrow` is not installed.
    """
    of, key = StreamName.parse(stream), checked_key(asset)
    if find_spec("pyarrow") is None:
        raise ConfigurationError("checks of schemas as columns need Arrow: pip install 'dagster-pravega[arrow]'")

    @asset_check(
        asset=key,
        name=name,
        blocking=blocking,
        description=f"Has the schema of {of} the columns of the asset?",
        required_resource_keys={schema_registry_key},
    )
    def schema_drift(context: AssetCheckExecutionContext) -> AssetCheckResult:
        from aiopravega.blocking.blocks import open_block_reader
        from dagster_pravega.tables.drift import RegistryDrift, registry_drift

        resource: SchemaRegistryResource = getattr(context.resources, schema_registry_key)
        with failing_for_good():
            registry = resource.registry
            known_group = registry.run(need_group(registry.asynchronous, GroupAddress.of_stream(of, group, namespace)))
            reader = open_block_reader(registry, known_group.name, namespace=known_group.namespace, type_name=type_name)
            made = checked_materialization(context, key)
        columns = None if made is None else plain(made.metadata.get(SCHEMA_KEY))
        known: dict[str, Any] = {STREAM_KEY: str(of), "pravega/group": known_group.name}
        if not isinstance(columns, TableSchema):
            return AssetCheckResult(
                passed=False,
                description=f"the materialization has no columns ({SCHEMA_KEY}), so that nothing is compared",
                metadata=known,
            )
        drift = registry_drift(reader.schema, columns, {*ignore, _ROUTING_KEY})
        rows = [
            dict(zip(_COLUMNS, (each.name, each.drift.value, each.registry, each.materialized), strict=True))
            for each in drift
        ]
        new_only = all(each.drift is RegistryDrift.NEW for each in drift)
        return AssetCheckResult(
            passed=not drift,
            severity=AssetCheckSeverity.WARN if new_only else AssetCheckSeverity.ERROR,
            description="; ".join(f"{each.name}: {each.drift.value}" for each in drift) or "the columns are the same",
            metadata={**known, "pravega/drift": table_of(_COLUMNS, rows)},
        )

    return schema_drift

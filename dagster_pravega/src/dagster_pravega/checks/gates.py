"""Gates as blocking asset checks: of a schema before it is used, and of data against the schemas in its headers."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from dagster import (
    AssetCheckExecutionContext,
    AssetCheckResult,
    AssetChecksDefinition,
    AssetCheckSeverity,
    AssetKey,
    asset_check,
)
from dagster import __version__ as dagster_version
from packaging.version import Version

from aiopravega import StreamCutRange, StreamName
from aiopravega.errors import ConfigurationError
from aiopravega.gates import DataReport, check_candidate, check_data
from aiopravega.schema import SchemaFormat
from aiopravega.schema.open import POLICY, SchemaReport
from dagster_pravega.metadata.failures import failing_for_good
from dagster_pravega.metadata.measures import table_of
from dagster_pravega.metadata.ranges import checked_range
from dagster_pravega.metadata.spec import CUTS_KEY, STREAM_KEY, AssetLike, asset_key_of
from dagster_pravega.resources.resource import PravegaResource
from dagster_pravega.resources.schema_registry import SchemaRegistryResource

# The first Dagster that accepts dots in the key of an asset that a check, or another asset, names without reading it.
_DOTS_SINCE: Final = Version("1.13.4")
_VIOLATION: Final = ("version", "direction", "path", "rule", "old", "new", "remedy")
_SCHEMA: Final = ("type", "format", "version", "codec", "encoding_id", "events", "failed")
_FAILURE: Final = ("pointer", "encoding_id", "reason")


def build_schema_gate(
    asset: AssetLike,
    *,
    stream: str,
    candidate: Any,
    name: str = "schema_gate",
    type_name: str | None = None,
    schema_format: SchemaFormat | None = None,
    proto_path: str | Path | Sequence[str | Path] = (),
    group: str | None = None,
    namespace: str | None = None,
    policy: str | None = None,
    against: str | int = POLICY,
    declared_only: bool = False,
    as_columns: bool = False,
    register: bool = False,
    new_policy: str | None = None,
    blocking: bool = True,
) -> AssetChecksDefinition:
    """A check that lets downstream assets run only if a schema is compatible with the schemas of a stream.

    It needs the resource `schema_registry`. Avro, JSON Schema and Protobuf are compared here; the registry itself
    compares Avro only. The check's metadata has every violation with its path, its rule and a remedy.

    Args:
        asset: the asset to check; its downstream assets wait. To let the asset that writes the stream wait, give one
            of its upstream assets, or the stream's own external asset.
        stream: `scope/stream`, which has the schemas.
        candidate: the path of a schema file; a pydantic model, dataclass or Protobuf message, or its dotted name; a
            schema of Spark or Arrow; another stream's, as `pravega://scope/stream`; a `SchemaInfo`.
        name: of the check.
        type_name: of the schema, if the candidate and the group do not have it.
        schema_format: of the schema that is made of columns of Spark or Arrow, Avro or JSON; by default the group's.
        proto_path: of a `.proto` file: the folders in which its imports are looked for, in this order; the file has to
            lie in one of them. By default the folder of the file.
        group: name of the registry's group; by default the stream's.
        namespace: of the group; by default the scope's name, and if the group is not there, the default namespace.
        policy: the policy to compare by, such as `BackwardTransitive`; by default the group's.
        against: `policy`, the versions that the policy names; `latest`; `all`; or the number of a version.
        declared_only: of JSON, assume that no writer uses properties that a schema does not declare; then a property
            may be added with any type.
        as_columns: of Avro, also refuse types that column readers such as Spark cannot hold.
        register: add a schema that passes to the group, which is made if there is none.
        new_policy: of a group that is made to register; by default `BackwardTransitive`.
        blocking: a refused schema prevents downstream assets from running.

    Raises:
        ConfigurationError: the stream is not `scope/stream`.
    """
    of, key = StreamName.parse(stream), checked_key(asset)

    @asset_check(asset=key, name=name, blocking=blocking, description=f"May the schema follow those of {of}?")
    def schema_gate(context: AssetCheckExecutionContext, schema_registry: SchemaRegistryResource) -> AssetCheckResult:
        registry = schema_registry.registry
        with failing_for_good():
            report = registry.run(
                check_candidate(
                    registry.asynchronous,
                    of,
                    candidate,
                    type_name=type_name,
                    schema_format=schema_format,
                    proto_path=proto_path,
                    group=group,
                    namespace=namespace,
                    policy=policy,
                    against=against,
                    declared_only=declared_only,
                    as_columns=as_columns,
                    register=register,
                    new_policy=new_policy,
                )
            )
        content = report.to_json()
        return _result(
            context,
            report,
            {
                STREAM_KEY: str(of),
                "pravega/group": report.group,
                "pravega/schema_type": content["type"],
                "pravega/policy": report.compatibility.policy.policy,
                "pravega/compared": ", ".join(f"v{each.version}" for each in report.compatibility.compared) or "none",
                "pravega/violations": table_of(_VIOLATION, content["violations"]),
                **({} if report.registered is None else {"pravega/version": report.registered.version}),
            },
        )

    return schema_gate


def build_data_gate(
    asset: AssetLike,
    *,
    stream: str,
    name: str = "data_gate",
    cuts: StreamCutRange | None = None,
    sample: int | None = 1000,
    group: str | None = None,
    namespace: str | None = None,
    blocking: bool = True,
) -> AssetChecksDefinition:
    """A check that lets downstream assets run only if events decode with the schemas in their headers.

    It needs the resources `pravega` and `schema_registry`. The metadata has the number of events of each schema and
    version, and the first failures with their position and the reason.

    Args:
        asset: the asset to check; its downstream assets wait.
        stream: `scope/stream`.
        name: of the check.
        cuts: the range; by default the range that this run, or the run that it repeats, wrote or read of the asset
            (`pravega/cuts`), of its partition; if it did neither, the range of the latest materialization of the
            partition; for an asset without partitions that has none, all of the stream.
        sample: the most events that are read, at several offsets of the range; None: all of them.
        group: name of the registry's group; by default the stream's.
        namespace: of the group; by default the scope's name, and if the group is not there, the default namespace.
        blocking: bad data prevents downstream assets from running.

    Raises:
        ConfigurationError: the stream is not `scope/stream`.
    """
    of, key = StreamName.parse(stream), checked_key(asset)

    @asset_check(asset=key, name=name, blocking=blocking, description=f"Do the events of {of} decode?")
    def data_gate(
        context: AssetCheckExecutionContext, pravega: PravegaResource, schema_registry: SchemaRegistryResource
    ) -> AssetCheckResult:
        with failing_for_good():
            wanted = checked_range(context, key, cuts)
            client, registry = pravega.client, schema_registry.registry
            report = client.run(
                check_data(
                    client.asynchronous,
                    registry.asynchronous,
                    wanted,
                    of,
                    sample=sample,
                    group=group,
                    namespace=namespace,
                )
            )
        content = report.to_json()
        return _result(
            context,
            report,
            {
                STREAM_KEY: str(of),
                CUTS_KEY: report.range.to_json(),
                "pravega/events": report.events,
                "pravega/failed": report.failed,
                "pravega/sampled": report.sampled,
                "pravega/schemas": table_of(_SCHEMA, content["schemas"]),
                "pravega/failures": table_of(_FAILURE, content["failures"]),
            },
        )

    return data_gate


def checked_key(asset: AssetLike) -> AssetKey:
    """The key of an asset that a check is attached to.

    Raises:
        ConfigurationError: the key has a dot, and this Dagster names a check's input by the key, which must not have
            dots. Names of Debezium's streams have dots.
    """
    key = asset_key_of(asset)
    if any("." in part for part in key.path) and Version(dagster_version) < _DOTS_SINCE:
        raise ConfigurationError(
            f"the key {key.to_user_string()} has a dot, and Dagster {dagster_version} has no checks of such assets: "
            f"update Dagster to {_DOTS_SINCE} or newer, or give the asset a key without dots, such as "
            f"pravega_stream_spec(…, key={[part.replace('.', '_') for part in key.path]})"
        )
    return key


def _result(
    context: AssetCheckExecutionContext, report: SchemaReport | DataReport, metadata: Mapping[str, Any]
) -> AssetCheckResult:
    (context.log.info if report.passed else context.log.warning)("The gate says:\n%s", report.table())
    return AssetCheckResult(
        passed=report.passed, severity=AssetCheckSeverity.ERROR, description=report.summary(), metadata=metadata
    )

"""Gates as asset checks: what follows an asset runs only if a schema may follow, or data is what it claims to be."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from dagster import (
    AssetCheckExecutionContext,
    AssetCheckResult,
    AssetChecksDefinition,
    AssetCheckSeverity,
    AssetKey,
    AssetsDefinition,
    AssetSpec,
    MetadataValue,
    TableColumn,
    TableMetadataValue,
    TableRecord,
    TableSchema,
    asset_check,
)
from dagster import __version__ as dagster_version
from packaging.version import Version

from aiopravega import StreamCutRange, StreamName
from aiopravega.errors import ConfigurationError
from aiopravega.gates import DataReport, check_candidate, check_data
from aiopravega.schema import SchemaFormat
from aiopravega.schema.open import POLICY, SchemaReport
from dagster_pravega.checks.checked_range import checked_range
from dagster_pravega.metadata.failures import failing_for_good
from dagster_pravega.metadata.spec import CUTS_KEY, STREAM_KEY
from dagster_pravega.resources.resource import PravegaResource
from dagster_pravega.resources.schema_registry import SchemaRegistryResource

AnAsset: TypeAlias = AssetKey | str | Sequence[str] | AssetsDefinition | AssetSpec
# The first Dagster that takes a dot in the key of an asset that a check, or another asset, names without reading it.
_DOTS_SINCE: Final = Version("1.13.4")
_VIOLATION: Final = ("version", "direction", "path", "rule", "old", "new", "remedy")
_SCHEMA: Final = ("type", "format", "version", "codec", "encoding_id", "events", "failed")
_FAILURE: Final = ("pointer", "encoding_id", "reason")


def build_schema_gate(
    asset: AnAsset,
    *,
    stream: str,
    candidate: Any,
    name: str = "schema_gate",
    type_name: str | None = None,
    schema_format: SchemaFormat | None = None,
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
    """A check that lets what follows an asset run only if a schema may follow those that a stream has.

    It needs the resource `schema_registry`. Avro, JSON Schema and Protobuf are compared here; the registry itself
    compares Avro only. The check's metadata has every violation with its path, rule, and what would help.

    Args:
        asset: whose followers are held back. To hold back the asset that writes the stream, give one that it is made
            of, or the stream's own external asset.
        stream: `scope/stream`, whose schemas they are.
        candidate: the path of a schema file; a pydantic model, dataclass or Protobuf message, or its dotted name; a
            schema of Spark or Arrow; another stream's, as `pravega://scope/stream`; a `SchemaInfo`.
        name: of the check.
        type_name: of the schema, if the candidate and the group leave it open.
        schema_format: what columns of Spark or Arrow become, Avro or JSON; by default the group's format.
        group: name of the registry's group; by default the stream's.
        namespace: of the group; by default the scope's name, and if the group is not there, the default namespace.
        policy: what to ask for, such as `BackwardTransitive`; by default what the group asks for.
        against: `policy`, the versions that the policy says; `latest`; `all`; or the number of a version.
        declared_only: of JSON, assume that no writer uses properties that a schema does not declare; then a property
            may be added with a type of its own.
        as_columns: of Avro, refuse what column readers such as Spark cannot hold, too.
        register: whether a schema that passes is added to the group, which is made if there is none.
        new_policy: of a group that is made to register; by default `BackwardTransitive`.
        blocking: whether a refused schema holds back what follows.

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
    asset: AnAsset,
    *,
    stream: str,
    name: str = "data_gate",
    cuts: StreamCutRange | None = None,
    sample: int | None = 1000,
    group: str | None = None,
    namespace: str | None = None,
    blocking: bool = True,
) -> AssetChecksDefinition:
    """A check that lets what follows an asset run only if events decode with the schemas that their headers claim.

    It needs the resources `pravega` and `schema_registry`. The metadata says how many events there are of each schema
    and version, and where the first ones are that do not decode, with the reason.

    Args:
        asset: whose followers are held back.
        stream: `scope/stream`.
        name: of the check.
        cuts: the range; by default what the latest materialization of the asset wrote (`pravega/cuts`), or else all.
        sample: how many events at most, taken at several offsets of the range; None: all of them.
        group: name of the registry's group; by default the stream's.
        namespace: of the group; by default the scope's name, and if the group is not there, the default namespace.
        blocking: whether bad data holds back what follows.

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


def key_of(asset: AnAsset) -> AssetKey:
    """The key of what a check is attached to."""
    if isinstance(asset, AssetsDefinition | AssetSpec):
        return asset.key
    return AssetKey.from_coercible(asset)


def checked_key(asset: AnAsset) -> AssetKey:
    """The key of what is checked.

    Raises:
        ConfigurationError: this Dagster has no checks of such a key. It names a check's input by the key, and names of
            inputs have no dots; streams such as Debezium's have.
    """
    key = key_of(asset)
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


def table_of(columns: tuple[str, ...], rows: list[dict[str, Any]]) -> TableMetadataValue:
    """Dagster's cells are texts, numbers and truths; what is not known is left empty."""
    records = [TableRecord({name: "" if row[name] is None else row[name] for name in columns}) for row in rows]
    return MetadataValue.table(records, TableSchema(columns=[TableColumn(name) for name in columns]))

"""The gate for schemas: it compares a candidate with the schemas of a group, and can register it.

`aiopravega.schema.open` compares and registers; here the candidate is resolved.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from aiopravega.gates.candidates import resolve
from aiopravega.names import StreamName
from aiopravega.schema import Compatibility, SchemaFormat, SchemaInfo, SchemaRegistry
from aiopravega.schema.open import (
    POLICY,
    ComparisonOptions,
    GroupAddress,
    NewGroup,
    SchemaReport,
    compare,
    find_group,
    need_group,
    offer_schema,
)


async def check_schema(
    registry: SchemaRegistry,
    group: str,
    candidate: SchemaInfo,
    *,
    namespace: str = "",
    policy: str | Compatibility | None = None,
    against: str | int = POLICY,
    declared_only: bool = False,
    as_columns: bool = False,
    register: bool = False,
    new_policy: str | None = None,
) -> SchemaReport:
    """Compare a candidate with a group's schemas of its type; register it on request, if it passes.

    Args:
        registry: where the group is.
        group: its name.
        candidate: the schema. An empty type becomes the group's only type; without one, the group's name.
        namespace: of the group.
        policy: the policy to compare by; by default the group's. By the group's policy, a schema that the group already
            has passes without a comparison.
        against: `policy`, the versions that the policy names; or `latest`, `all`, or the number of a version, which are
            compared in the directions of the policy.
        declared_only: of JSON, whose schemas admit undeclared properties unless they say otherwise: assume that no
            writer uses undeclared properties. Then a property may be added with any type.
        as_columns: of Avro: also refuse types that column readers such as Spark cannot hold.
        register: add the schema to the group, if it passes and the group's own policy also allows it; see
            `aiopravega.schema.open.offer_schema`.
        new_policy: of a group that is made to register; by default `BackwardTransitive`.

    Raises:
        GroupNotFoundError: there is no such group, and `register` is false.
        SchemaRefusedError: the candidate is of another format than the group; or the server refuses a schema that has
            passed.
        InvalidSchemaError: a schema cannot be parsed.
        ConfigurationError: there is no such policy or version, or there is nothing to compare by.
        PravegaError: the registry cannot be asked.
    """
    options = ComparisonOptions(policy, against, declared_only, as_columns)
    return await _check(registry, GroupAddress(group, (namespace,)), candidate, options, register, new_policy)


async def check_candidate(
    registry: SchemaRegistry,
    stream: StreamName,
    source: Any,
    *,
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
) -> SchemaReport:
    """Compare a candidate of any source with the schemas of a stream's group, as `check_schema` does.

    Args:
        registry: where the group is.
        stream: the stream of the group; see `GroupAddress.of_stream`.
        source: of the candidate; see `aiopravega.gates.candidates.resolve`.
        type_name: of the candidate, if the source and the group do not have it.
        schema_format: of a schema that is made of columns; by default the group's format.
        proto_path: of a `.proto` file: the folders in which its imports are looked for; see
            `aiopravega.gates.candidates.from_file`.
        group: the group's name; by default the stream's.
        namespace: of the group; by default the existing group's, and for a new one the scope's name.
        policy: see `check_schema`.
        against: see `check_schema`.
        declared_only: see `check_schema`.
        as_columns: see `check_schema`.
        register: see `check_schema`.
        new_policy: see `check_schema`.

    Raises:
        PravegaError: as by `check_schema` and `resolve`.
    """
    address = GroupAddress.of_stream(stream, group, namespace)
    known_group = await (find_group if register else need_group)(registry, address)
    candidate = await resolve(registry, source, stream, type_name, schema_format, known_group, proto_path)
    options = ComparisonOptions(policy, against, declared_only, as_columns)
    return await _check(registry, address, candidate, options, register, new_policy)


async def _check(
    registry: SchemaRegistry,
    address: GroupAddress,
    candidate: SchemaInfo,
    options: ComparisonOptions,
    register: bool,
    new_policy: str | None,
) -> SchemaReport:
    if register:
        return await offer_schema(registry, address, candidate, NewGroup(new_policy), options)
    return (await compare(registry, await need_group(registry, address), candidate, options)).report

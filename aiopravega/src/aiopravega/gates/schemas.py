"""The gate for schemas: may a candidate follow the schemas of a group? If so, it can be registered.

The comparison and the registration are those of `aiopravega.schema.open`; here the candidate is resolved.
"""

from typing import Any

from aiopravega.gates.candidates import resolve
from aiopravega.names import StreamName
from aiopravega.schema import Compatibility, SchemaFormat, SchemaInfo, SchemaRegistry
from aiopravega.schema.open import (
    POLICY,
    GroupAddress,
    NewGroup,
    Question,
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
        candidate: the schema. An empty type is the one that the group has, or else the group's name.
        namespace: of the group.
        policy: the policy to compare by; by default the group's. A schema that the group has passes that as it is.
        against: `policy`, the versions that the policy names; `latest`, `all`, or the number of a version: those, in
            the directions of the policy.
        declared_only: of JSON, whose schemas admit undeclared properties unless they say otherwise: assume that no
            writer uses undeclared properties. Then a property may be added with a type of its own.
        as_columns: of Avro: refuse what column readers such as Spark cannot hold, too.
        register: whether it is added to the group if it passes, and the group's own policy allows it, too; see
            `aiopravega.schema.open.offer_schema`.
        new_policy: of a group that is made to register; by default `BackwardTransitive`.

    Raises:
        GroupNotFoundError: there is no such group, and `register` is false.
        SchemaRefusedError: the candidate is of another format than the group; or the server refuses what has passed.
        InvalidSchemaError: a schema cannot be parsed.
        ConfigurationError: there is no such policy or version, or there is nothing to compare by.
        PravegaError: the registry cannot be asked.
    """
    question = Question(policy, against, declared_only, as_columns)
    return await _check(registry, GroupAddress(group, (namespace,)), candidate, question, register, new_policy)


async def check_candidate(
    registry: SchemaRegistry,
    stream: StreamName,
    source: Any,
    *,
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
) -> SchemaReport:
    """The same for the group of a stream and any source of a candidate; tasks of a scheduler call this.

    Args:
        registry: where the group is.
        stream: the stream of the group; see `GroupAddress.of_stream`.
        source: of the candidate; see `aiopravega.gates.candidates.resolve`.
        type_name: of the candidate, if the source and the group leave it open.
        schema_format: what columns become; by default the group's format.
        group: the group's name; by default the stream's.
        namespace: of the group; by default where it is, and for a new one the scope's name.
        policy: see `check_schema`, as all that follow.
        against: see `check_schema`.
        declared_only: see `check_schema`.
        as_columns: see `check_schema`.
        register: see `check_schema`.
        new_policy: see `check_schema`.

    Raises:
        PravegaError: as by `check_schema` and `resolve`.
    """
    address = GroupAddress.of_stream(stream, group, namespace)
    found = await (find_group if register else need_group)(registry, address)
    candidate = await resolve(registry, source, stream, type_name, schema_format, found)
    question = Question(policy, against, declared_only, as_columns)
    return await _check(registry, address, candidate, question, register, new_policy)


async def _check(
    registry: SchemaRegistry,
    address: GroupAddress,
    candidate: SchemaInfo,
    question: Question,
    register: bool,
    new_policy: str | None,
) -> SchemaReport:
    if register:
        return await offer_schema(registry, address, candidate, NewGroup(new_policy), question)
    return (await compare(registry, await need_group(registry, address), candidate, question)).report

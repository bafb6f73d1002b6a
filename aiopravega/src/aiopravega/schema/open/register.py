"""Registration of schemas: the only code that adds a schema to a group of the registry.

The group is found or made. The candidate is compared by the group's policy on this side, because the server compares
Avro only, and added if it passes. A candidate that is refused leaves no trace. `SchemaRegistry` is the registry's
client with two calls that compare before they send: `create_group` and `add_schema`.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from aiopravega.errors import GroupNotFoundError, PravegaConnectionError, SchemaRefusedError
from aiopravega.schema.open.check import check
from aiopravega.schema.open.compare import Comparison, ComparisonOptions, compare, typed
from aiopravega.schema.open.groups import (
    Group,
    GroupAddress,
    NewGroup,
    find_group,
    make_group,
    need_group,
    removed_if_refused,
    with_policy,
)
from aiopravega.schema.open.report import SchemaReport
from aiopravega.schema.registry.client import RegistryClient
from aiopravega.schema.registry.model import (
    ALLOW_ANY,
    Compatibility,
    GroupProperties,
    SchemaInfo,
    SchemaVersion,
    VersionInfo,
)

if TYPE_CHECKING:
    from aiopravega.names import StreamName

# Times that other programs may remove the group, whose first schema was refused, between finding it here and adding.
_REMOVALS: Final = 2


class SchemaRegistry(RegistryClient):
    """An asynchronous client of a Schema Registry; use it with `async with`.

    A stream's group is named after the stream. `namespace` is the registry's own division; "" is the one that
    serializers use by default.
    """

    async def create_group(self, group: str, properties: GroupProperties, namespace: str = "") -> bool:
        """Make a group; return False if a group of that name exists, with any properties.

        For formats other than Avro the registry accepts most policies in a second request only, which is sent here: see
        `aiopravega.schema.open.groups`.

        Raises:
            ConfigurationError: there is no such policy.
            PravegaError: the registry refuses; no group is left.
        """
        return (await make_group(self, group, properties, namespace)).made

    async def add_schema(
        self, group: str, schema: SchemaInfo, namespace: str = "", *, declared_only: bool = False
    ) -> VersionInfo:
        """Add a schema to a group whose policy allows it; a schema that the group has keeps its version.

        The schema is compared here, since the server compares Avro only: see `offer_schema`, which also makes
        groups. `declared_only` is for JSON: see `aiopravega.schema.open.ComparisonOptions`.

        Raises:
            GroupNotFoundError: there is no such group.
            SchemaRefusedError: the group's policy, format or type does not allow it; the message lists the violations.
            InvalidSchemaError: it cannot be parsed.
            ConfigurationError: the extra of the schema's format is not installed.
        """
        options = ComparisonOptions(declared_only=declared_only)
        address = GroupAddress(group, (namespace,))
        report = (await offer_schema(self, address, schema, options=options)).require()
        assert report.registered is not None
        return report.registered


async def register_schema(
    registry: RegistryClient,
    stream: "StreamName",
    candidate: SchemaInfo,
    *,
    group: str | None = None,
    namespace: str | None = None,
    new_policy: str | None = None,
    declared_only: bool = False,
    as_columns: bool = False,
) -> SchemaReport:
    """Add a schema to the group of a stream, which is made if it does not exist.

    Args:
        registry: a client of it.
        stream: the stream; see `GroupAddress.of_stream`.
        candidate: the schema. If its type is empty, it gets the type that the group has, or the group's name.
        group: the group's name; by default the stream's.
        namespace: of the group; by default the one in which it exists, and for a new group the scope's name.
        new_policy: of a new group; by default `BackwardTransitive` for Avro, JSON and Protobuf, `AllowAny` for the
            others.
        declared_only: see `ComparisonOptions`.
        as_columns: see `ComparisonOptions`.

    Raises:
        SchemaRefusedError: the group does not accept it; the message lists the violations.
        InvalidSchemaError: a schema cannot be parsed; nothing is made.
        ConfigurationError: there is no such policy; nothing is made.
        PravegaError: the registry cannot be asked.
    """
    address = GroupAddress.of_stream(stream, group, namespace)
    new, options = NewGroup(new_policy), ComparisonOptions(declared_only=declared_only, as_columns=as_columns)
    return (await offer_schema(registry, address, candidate, new, options)).require()


async def offer_schema(
    registry: RegistryClient,
    address: GroupAddress,
    candidate: SchemaInfo,
    new: NewGroup | None = None,
    options: ComparisonOptions | None = None,
) -> SchemaReport:
    """The same for a group at an address: the report says whether the schema was added, or has the violations.

    Both the policy of the options and the group's own must allow it. The registry's server then checks Avro once more;
    every candidate is also compared with schemas that others have added in the meantime.

    Args:
        registry: a client of it.
        address: of the group.
        candidate: the schema.
        new: the properties of a new group; None: the group must exist.
        options: of the comparison, beside the one by the group's policy.

    Raises:
        GroupNotFoundError: there is no such group, and `new` is None.
        SchemaRefusedError: the candidate is of another format than the group; or the server refuses a schema that has
            passed here.
        InvalidSchemaError: a schema cannot be parsed; nothing is made.
        ConfigurationError: there is no such policy or version, there is nothing to compare by, or the extra of the
            format is not installed; nothing is made.
        PravegaError: the registry cannot be asked.
    """
    for _ in range(0 if new is None else _REMOVALS):
        with suppress(GroupNotFoundError):
            return await _offered(registry, address, candidate, new, options or ComparisonOptions())
    return await _offered(registry, address, candidate, new, options or ComparisonOptions())


async def _offered(
    registry: RegistryClient,
    address: GroupAddress,
    candidate: SchemaInfo,
    new: NewGroup | None,
    options: ComparisonOptions,
) -> SchemaReport:
    group = await _group(registry, address, candidate, new)
    async with removed_if_refused(registry, group.name, group.namespace, made=group.made):
        result = await compare(registry, group, candidate, options)
        report, own = result.report, group.properties.compatibility
        if report.passed and report.known is None and not options.is_group_policy:
            own_report = options.checked(report.candidate, result.of_the_type, own)
            report = report if own_report.compatible else replace(report, compatibility=own_report)
        if report.passed:
            report = await _added(registry, group, replace(result, report=report), options)
    return replace(report, made_group=group.made)


async def _group(registry: RegistryClient, address: GroupAddress, candidate: SchemaInfo, new: NewGroup | None) -> Group:
    group = await (need_group if new is None else find_group)(registry, address)
    if group is not None:
        return await with_policy(registry, group)
    new = new or NewGroup()
    # A candidate that cannot be parsed must not make a group.
    check(typed(candidate, (), address.name), (), Compatibility(policy=ALLOW_ANY))
    properties = new.properties(candidate.serialization_format)
    return await make_group(registry, address.name, properties, address.namespaces[0])


async def _added(
    registry: RegistryClient, group: Group, result: Comparison, options: ComparisonOptions
) -> SchemaReport:
    """Add a candidate that has passed, and compare again: others may have added theirs since the comparison."""
    report = result.report
    if report.known is not None:
        return replace(report, registered=report.known)
    candidate = report.candidate
    try:
        version = await _sent(registry, group, candidate)
    except SchemaRefusedError:
        now = (await compare(registry, group, candidate, options)).report
        if now.passed:
            raise
        return now
    ids = {each.version_info.id for each in result.versions}
    if version.id in ids:
        return replace(report, registered=version)
    meanwhile = _earlier(await registry.versions(group.name, group.namespace), ids, version)
    for policy in (result.asked, group.properties.compatibility) if meanwhile else ():
        second = options.checked(candidate, meanwhile, policy)
        if not second.compatible:
            await registry.delete_schema(group.name, version, group.namespace)
            return replace(report, compatibility=second)
    return replace(report, registered=version)


async def _sent(registry: RegistryClient, group: Group, candidate: SchemaInfo) -> VersionInfo:
    """Add a schema without any check; a schema that is there keeps its version, so the request may be repeated.

    If no answer comes, the schema may be in the group all the same, where it must not stay without a comparison.
    """
    send = registry._send_schema  # noqa: SLF001 - only this function sends it
    try:
        return await send(group.name, candidate, group.namespace)
    except PravegaConnectionError as error:
        if error.retryable:  # the client has tried again already, and nothing was sent
            raise
    return await send(group.name, candidate, group.namespace)


def _earlier(now: Sequence[SchemaVersion], before: set[int], ours: VersionInfo) -> list[SchemaVersion]:
    """The schemas of the candidate's type that others have added since the comparison, before the candidate."""
    return [
        each
        for each in now
        if each.version_info.id not in before
        and each.version_info.type == ours.type
        and each.version_info.version < ours.version
    ]

"""Registration of schemas: the only code that adds a schema to a group of the registry.

The group is found or made. The candidate is compared by the group's policy on this side, because the server compares
Avro only, and added if it passes. A candidate that is refused leaves no trace.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from aiopravega.errors import GroupNotFoundError, PravegaConnectionError, SchemaRefusedError
from aiopravega.schema.open.check import check
from aiopravega.schema.open.compare import Comparison, Question, compare, typed
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
from aiopravega.schema.registry.model import ALLOW_ANY, Compatibility, SchemaInfo, SchemaVersion, VersionInfo

if TYPE_CHECKING:
    from aiopravega.names import StreamName
    from aiopravega.schema.registry.client import RegistryClient

# Times that other programs may remove the group, whose first schema was refused, between finding it here and adding.
_REMOVALS: Final = 2


async def register_schema(
    registry: "RegistryClient",
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
        declared_only: see `Question`.
        as_columns: see `Question`.

    Raises:
        SchemaRefusedError: the group does not accept it; the message lists the violations.
        InvalidSchemaError: a schema cannot be parsed; nothing is made.
        ConfigurationError: there is no such policy; nothing is made.
        PravegaError: the registry cannot be asked.
    """
    address = GroupAddress.of_stream(stream, group, namespace)
    new, question = NewGroup(new_policy), Question(declared_only=declared_only, as_columns=as_columns)
    return (await offer_schema(registry, address, candidate, new, question)).require()


async def offer_schema(
    registry: "RegistryClient",
    address: GroupAddress,
    candidate: SchemaInfo,
    new: NewGroup | None = None,
    question: Question | None = None,
) -> SchemaReport:
    """The same for a group at an address: the report says whether the schema was added, or has the violations.

    Both the question's policy and the group's own must allow it. The registry's server then checks Avro once more;
    every candidate is also compared with schemas that others have added in the meantime.

    Args:
        registry: a client of it.
        address: of the group.
        candidate: the schema.
        new: the properties of a new group; None: the group must exist.
        question: the versions to compare with, besides those that the group's policy names.

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
            return await _offered(registry, address, candidate, new, question or Question())
    return await _offered(registry, address, candidate, new, question or Question())


async def _offered(
    registry: "RegistryClient", address: GroupAddress, candidate: SchemaInfo, new: NewGroup | None, question: Question
) -> SchemaReport:
    group = await _group(registry, address, candidate, new)
    async with removed_if_refused(registry, group.name, group.namespace, made=group.made):
        comparison = await compare(registry, group, candidate, question)
        report, own = comparison.report, group.properties.compatibility
        if report.passed and report.known is None and not question.is_the_group_s:
            own_report = question.checked(report.candidate, comparison.of_the_type, own)
            report = report if own_report.compatible else replace(report, compatibility=own_report)
        if report.passed:
            report = await _added(registry, group, replace(comparison, report=report), question)
    return replace(report, made_group=group.made)


async def _group(
    registry: "RegistryClient", address: GroupAddress, candidate: SchemaInfo, new: NewGroup | None
) -> Group:
    group = await (need_group if new is None else find_group)(registry, address)
    if group is not None:
        return await with_policy(registry, group)
    new = new or NewGroup()
    # A candidate that cannot be parsed must not make a group.
    check(typed(candidate, (), address.name), (), Compatibility(policy=ALLOW_ANY))
    properties = new.properties(candidate.serialization_format)
    return await make_group(registry, address.name, properties, address.namespaces[0])


async def _added(registry: "RegistryClient", group: Group, comparison: Comparison, question: Question) -> SchemaReport:
    """Add a candidate that has passed, and compare again: others may have added theirs since the comparison."""
    report = comparison.report
    if report.known is not None:
        return replace(report, registered=report.known)
    candidate = report.candidate
    try:
        version = await _sent(registry, group, candidate)
    except SchemaRefusedError:
        now = (await compare(registry, group, candidate, question)).report
        if now.passed:
            raise
        return now
    ids = {each.version_info.id for each in comparison.versions}
    if version.id in ids:
        return replace(report, registered=version)
    meanwhile = _earlier(await registry.versions(group.name, group.namespace), ids, version)
    for policy in (comparison.asked, group.properties.compatibility) if meanwhile else ():
        second = question.checked(candidate, meanwhile, policy)
        if not second.compatible:
            await registry.delete_schema(group.name, version, group.namespace)
            return replace(report, compatibility=second)
    return replace(report, registered=version)


async def _sent(registry: "RegistryClient", group: Group, candidate: SchemaInfo) -> VersionInfo:
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

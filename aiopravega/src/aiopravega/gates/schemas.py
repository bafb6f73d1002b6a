"""The gate for schemas: may a candidate follow what a group of the registry has, and if so, is it to be registered?

The comparison itself is `aiopravega.schema.compatibility`, which asks nobody; here the versions are fetched, and what
passes is put into the registry. A candidate that is refused leaves no trace there.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from aiopravega.errors import ConfigurationError, SchemaRefusedError
from aiopravega.gates.groups import find_group, make_group
from aiopravega.gates.report import GateReport
from aiopravega.names import StreamName
from aiopravega.schema import (
    Compatibility,
    GroupProperties,
    SchemaFormat,
    SchemaInfo,
    SchemaRegistry,
    SchemaVersion,
    VersionInfo,
)
from aiopravega.schema.compatibility import CompatibilityReport, Violation, check, parse_policy, sides
from aiopravega.schema.new_group import removed_if_refused

POLICY: Final = "policy"
LATEST: Final = "latest"
ALL: Final = "all"
_BASES: Final = {
    frozenset({"backward"}): "Backward",
    frozenset({"forward"}): "Forward",
    frozenset({"backward", "forward"}): "Full",
}


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
) -> GateReport:
    """Compare a candidate with a group's schemas of its type; register it, if that is wanted and nothing is wrong.

    Args:
        registry: where the group is.
        group: its name.
        candidate: the schema. An empty type is the one that the group has, or else the group's name.
        namespace: of the group.
        policy: what to ask for; by default what the group asks for. A schema that the group has passes that as it is.
        against: `policy`, the versions that the policy says; `latest`, `all`, or the number of a version: those, in
            the directions that the policy says.
        declared_only: of JSON, whose schemas admit properties that they do not tell of unless they say otherwise: take
            it that nobody writes such. Then a property may be added with a type of its own.
        as_columns: of Avro: refuse what column readers such as Spark cannot hold, too.
        register: whether it is added to the group if it passes, and the group's own policy allows it, too. The
            registry's server then checks Avro once more; other formats are compared with what others have added in the
            meantime.

    Raises:
        GroupNotFoundError: there is no such group.
        SchemaRefusedError: the candidate is of another format than the group; or the server refuses what has passed.
        InvalidSchemaError: a schema cannot be parsed.
        ConfigurationError: the policy is none, the version is not there, or there is nothing to compare by.
        PravegaError: the registry cannot be asked.
    """
    properties = await registry.group(group, namespace)
    _check_format(candidate, properties, group)
    everything = await registry.versions(group, namespace)
    candidate = _typed(candidate, everything, group)
    existing = [each for each in everything if each.schema_info.type == candidate.type]
    known = next((each.version_info for each in existing if _same(each.schema_info, candidate)), None)
    asked = parse_policy(policy, existing) if isinstance(policy, str) else policy or properties.compatibility
    if known is not None and policy is None and against == POLICY:
        found = CompatibilityReport(candidate.format.value, asked, (), ())
        if as_columns:
            found = check(candidate, [], asked, as_columns=True)
    else:
        others = [each for each in existing if each.version_info != known]
        found = _compare(candidate, others, asked, against, declared_only, as_columns)
    if not properties.allow_multiple_types and everything and not existing:
        found = replace(found, violations=(*found.violations, _other_type(candidate, everything[-1])))
    report = GateReport(group, namespace, candidate, str(against), found, known)
    if not report.passed or not register:
        return report
    if known is None and (policy is not None or against != POLICY):
        found = check(candidate, existing, properties.compatibility, declared_only=declared_only)
        if not found.compatible:
            return replace(report, compatibility=found)
    return await _register(registry, report, everything, (asked, properties.compatibility), declared_only)


async def register_schema(
    registry: SchemaRegistry,
    stream: StreamName,
    candidate: SchemaInfo,
    *,
    group: str | None = None,
    namespace: str | None = None,
    new_policy: str | None = None,
    declared_only: bool = False,
) -> GateReport:
    """Put a schema into the group of a stream, which is made if there is none (with `new_policy`, in the scope's name).

    Raises:
        SchemaRefusedError: the group does not take it; the message lists the violations.
        InvalidSchemaError: a schema cannot be parsed; nothing is made.
        ConfigurationError: there is no such policy; nothing is made.
        PravegaError: the registry cannot be asked.
    """
    found = await find_group(registry, stream, group, namespace)
    if found is not None:
        report = await check_schema(
            registry, found.name, candidate, namespace=found.namespace, declared_only=declared_only, register=True
        )
        if not report.passed:
            raise SchemaRefusedError(report.table())
        return report
    name, place = group or stream.stream, stream.scope if namespace is None else namespace
    made = await make_group(registry, name, place, candidate.serialization_format, new_policy)
    async with removed_if_refused(registry, name, place, made=made):
        report = await check_schema(registry, name, candidate, namespace=place, register=True)
    if not report.passed:  # somebody else has made the group in the meantime, with another schema
        raise SchemaRefusedError(report.table())
    return replace(report, made_group=made)


def _check_format(candidate: SchemaInfo, properties: GroupProperties, group: str) -> None:
    if properties.format not in (SchemaFormat.ANY, candidate.format):
        raise SchemaRefusedError(
            f"group {group} has schemas of format {properties.format}, but the candidate is {candidate.format}: give "
            "one of the group's format, or another group"
        )


def _typed(candidate: SchemaInfo, existing: Sequence[SchemaVersion], group: str) -> SchemaInfo:
    """The candidate with the type of the group's schemas, if it has none of its own."""
    if candidate.type:
        return candidate
    types = sorted({each.schema_info.type for each in existing if each.schema_info.format is candidate.format})
    if len(types) > 1:
        raise ConfigurationError(f"which of {', '.join(types)} in group {group} is it? Give the candidate's type")
    return candidate.model_copy(update={"type": types[0] if types else group})


def _same(one: SchemaInfo, other: SchemaInfo) -> bool:
    """Whether two schemas say the same; spaces in JSON do not count."""
    if one.serialization_format.serialization_format is not other.serialization_format.serialization_format:
        return False
    if one.schema_data == other.schema_data:
        return True
    if one.format not in (SchemaFormat.AVRO, SchemaFormat.JSON):
        return False
    try:
        return bool(json.loads(one.schema_data) == json.loads(other.schema_data))
    except ValueError:  # which the comparison complains about
        return False


def _compare(
    candidate: SchemaInfo,
    existing: Sequence[SchemaVersion],
    policy: Compatibility,
    against: str | int,
    declared_only: bool,
    as_columns: bool,
) -> CompatibilityReport:
    if against == POLICY:
        return check(candidate, existing, policy, declared_only=declared_only, as_columns=as_columns)
    directions = frozenset(side.direction for side in sides(policy))
    if not directions:
        raise ConfigurationError(
            f"the policy {policy.policy} compares with nothing, so that it cannot be held against {against!r}: give "
            "policy=, such as Backward"
        )
    compared, base = existing, _BASES[directions]
    if against == ALL:
        base = f"{base}Transitive"
    elif against == LATEST:
        compared = existing[-1:]
    else:
        compared = [each for each in existing if str(each.version_info.version) == str(against)]
        if not compared:
            known = ", ".join(str(each.version_info.version) for each in existing) or "none"
            raise ConfigurationError(
                f"there is no version {against} of {candidate.type} to compare with: give {POLICY}, {LATEST}, {ALL}, "
                f"or one of these: {known}"
            )
    asked = Compatibility(policy=base)
    return check(candidate, compared, asked, declared_only=declared_only, as_columns=as_columns)


def _other_type(candidate: SchemaInfo, latest: SchemaVersion) -> Violation:
    return Violation(
        candidate.type,
        "type-not-allowed",
        latest.schema_info.type,
        candidate.type,
        f"keep the type {latest.schema_info.type}, or make a group that takes several types",
        latest.version_info.version,
        "backward",
    )


async def _register(
    registry: SchemaRegistry,
    report: GateReport,
    before: Sequence[SchemaVersion],
    policies: Sequence[Compatibility],
    declared_only: bool,
) -> GateReport:
    """Add a candidate that has passed, and look again: others may have added theirs since `before` was read."""
    candidate = report.candidate
    version = await registry.add_schema(report.group, candidate, report.namespace)
    ids = {each.version_info.id for each in before}
    if version.id in ids:
        return replace(report, known=report.known or version, registered=version)
    meanwhile = _added(await registry.versions(report.group, report.namespace), ids, version)
    for policy in policies if meanwhile else ():
        found = check(candidate, meanwhile, policy, declared_only=declared_only)
        if not found.compatible:
            await registry.delete_schema(report.group, version, report.namespace)
            return replace(report, compatibility=found)
    return replace(report, registered=version)


def _added(now: Sequence[SchemaVersion], before: set[int], ours: VersionInfo) -> list[SchemaVersion]:
    """What others have added to our type in the meantime, before ours."""
    return [
        each
        for each in now
        if each.version_info.id not in before
        and each.version_info.type == ours.type
        and each.version_info.version < ours.version
    ]

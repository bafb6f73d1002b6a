"""Comparison of a candidate with the schemas of a group: its type, its version if the group has it, its violations.

Fetches the versions; the comparison of two schemas is in `aiopravega.schema.policy`, which sends no requests.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from aiopravega.errors import ConfigurationError, SchemaRefusedError
from aiopravega.schema.open.check import check
from aiopravega.schema.open.groups import Group
from aiopravega.schema.open.report import SchemaReport
from aiopravega.schema.policy import CompatibilityReport, Violation, parse_policy, sides
from aiopravega.schema.registry.model import (
    Compatibility,
    FormatName,
    GroupProperties,
    SchemaFormat,
    SchemaInfo,
    SchemaVersion,
    VersionInfo,
)

if TYPE_CHECKING:
    from aiopravega.schema.registry.client import RegistryClient

POLICY: Final = "policy"
LATEST: Final = "latest"
ALL: Final = "all"
_BASES: Final = {
    frozenset({"backward"}): "Backward",
    frozenset({"forward"}): "Forward",
    frozenset({"backward", "forward"}): "Full",
}


@dataclass(frozen=True, slots=True)
class Question:
    """The policy and the versions that a candidate is compared with.

    Attributes:
        policy: the policy to compare by; by default the group's, which a schema that the group has always passes.
        against: `policy`: the versions that the policy names. `latest`, `all`, or the number of a version: those
            versions, in the directions of the policy.
        declared_only: for JSON, whose schemas admit undeclared properties unless they say otherwise: assume that no
            writer uses undeclared properties. Then a property may be added with a type of its own.
        as_columns: for Avro: also refuse types that column readers such as Spark cannot hold.
    """

    policy: str | Compatibility | None = None
    against: str | int = POLICY
    declared_only: bool = False
    as_columns: bool = False

    @property
    def is_the_group_s(self) -> bool:
        """True if the candidate is compared by the group's own policy alone."""
        return self.policy is None and self.against == POLICY

    def checked(
        self, candidate: SchemaInfo, existing: Sequence[SchemaVersion], policy: Compatibility
    ) -> CompatibilityReport:
        """Compare a candidate with schemas by a policy, on the terms of this question.

        Raises:
            PravegaError: as `check` does.
        """
        return check(candidate, existing, policy, declared_only=self.declared_only, as_columns=self.as_columns)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A report, all versions that the group had when it was made, and the policy of the question."""

    report: SchemaReport
    versions: tuple[SchemaVersion, ...]
    asked: Compatibility

    @property
    def of_the_type(self) -> list[SchemaVersion]:
        """The versions of the candidate's type, oldest first."""
        return [version for version in self.versions if version.schema_info.type == self.report.candidate.type]


async def compare(
    registry: "RegistryClient", group: Group, candidate: SchemaInfo, question: Question | None = None
) -> Comparison:
    """Compare a candidate with a group's schemas of its type; nothing is added.

    If the candidate's type is empty, it gets the type that the group has, or the group's name if it has none.

    Raises:
        SchemaRefusedError: the candidate is of another format than the group.
        InvalidSchemaError: a schema cannot be parsed.
        ConfigurationError: there is no such policy or version, there is nothing to compare by, or the extra of the
            format is not installed.
        PravegaError: the registry cannot be asked.
    """
    question = question or Question()
    _check_format(group, candidate)
    everything = await registry.versions(group.name, group.namespace)
    candidate = typed(candidate, everything, group.name)
    existing = [each for each in everything if each.schema_info.type == candidate.type]
    known = _known(candidate, existing)
    policy, properties = question.policy, group.properties
    asked = parse_policy(policy, existing) if isinstance(policy, str) else policy or properties.compatibility
    if known is not None and question.is_the_group_s:
        found = CompatibilityReport(candidate.format.value, asked, (), ())
        if question.as_columns:
            found = check(candidate, (), asked, as_columns=True)
    else:
        others = [each for each in existing if each.version_info != known]
        found = _compared(candidate, others, asked, question)
    refusals = _refusals(candidate, everything, existing, properties)
    found = replace(found, violations=(*found.violations, *refusals))
    report = SchemaReport(group.name, group.namespace, candidate, str(question.against), found, known)
    return Comparison(report, tuple(everything), asked)


async def known_version(registry: "RegistryClient", group: Group, schema: SchemaInfo) -> VersionInfo | None:
    """The version under which a group has a schema; None if it does not have it.

    Raises:
        ConfigurationError: the schema has no type, and the group has schemas of several types.
        PravegaError: the registry cannot be asked.
    """
    everything = await registry.versions(group.name, group.namespace)
    schema = typed(schema, everything, group.name)
    return _known(schema, [each for each in everything if each.schema_info.type == schema.type])


def typed(candidate: SchemaInfo, existing: Sequence[SchemaVersion], group: str) -> SchemaInfo:
    """The candidate with a type: its own, or the type of the group's schemas, or the group's name if it has none.

    Raises:
        ConfigurationError: the group has schemas of several types.
    """
    if candidate.type:
        return candidate
    types = sorted({each.schema_info.type for each in existing if each.schema_info.format is candidate.format})
    if len(types) > 1:
        raise ConfigurationError(
            f"group {group} has schemas of the types {', '.join(types)}: give the candidate's type"
        )
    return candidate.model_copy(update={"type": types[0] if types else group})


def _check_format(group: Group, candidate: SchemaInfo) -> None:
    expected, actual = group.properties.serialization_format, candidate.serialization_format
    if expected.serialization_format is SchemaFormat.ANY or _name(expected) == _name(actual):
        return
    raise SchemaRefusedError(
        f"group {group.name} has schemas of format {_name(expected)}, but the candidate is {_name(actual)}: give a "
        "schema of the group's format, or another group"
    )


def _name(form: FormatName) -> str:
    custom = form.serialization_format is SchemaFormat.CUSTOM
    return (form.full_type_name or "") if custom else form.serialization_format.value


def _known(candidate: SchemaInfo, existing: Sequence[SchemaVersion]) -> VersionInfo | None:
    """The version that equals this schema; spaces in JSON and the order of its keys do not count."""
    same = [each for each in existing if _name_of(each.schema_info) == _name_of(candidate)]
    exact = [each for each in same if each.schema_info.schema_data == candidate.schema_data]
    equal = exact or [each for each in same if _same_json(each.schema_info, candidate)]
    return equal[0].version_info if equal else None


def _name_of(schema: SchemaInfo) -> str:
    return _name(schema.serialization_format)


def _same_json(one: SchemaInfo, other: SchemaInfo) -> bool:
    if one.format not in (SchemaFormat.AVRO, SchemaFormat.JSON):
        return False
    try:
        # As texts: for Python 1 is True, and 1 is 1.0.
        texts = {json.dumps(json.loads(each.schema_data), sort_keys=True) for each in (one, other)}
    except ValueError:  # the comparison reports it
        return False
    return len(texts) == 1


def _compared(
    candidate: SchemaInfo, existing: Sequence[SchemaVersion], policy: Compatibility, question: Question
) -> CompatibilityReport:
    against, ask = question.against, question.checked
    if against == POLICY:
        return ask(candidate, existing, policy)
    directions = frozenset(side.direction for side in sides(policy))
    if not directions:
        raise ConfigurationError(
            f"the policy {policy.policy} has no directions, so it cannot compare a candidate with {against!r}: "
            "give policy=, such as Backward"
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
    return ask(candidate, compared, Compatibility(policy=base))


def _refusals(
    candidate: SchemaInfo,
    everything: Sequence[SchemaVersion],
    existing: Sequence[SchemaVersion],
    properties: GroupProperties,
) -> list[Violation]:
    """The violations that no policy allows."""
    found = []
    if not properties.allow_multiple_types and everything and not existing:
        latest = everything[-1]
        remedy = f"keep the type {latest.schema_info.type}, or make a group that takes several types"
        found.append(_refusal(candidate, "type-not-allowed", latest, latest.schema_info.type, candidate.type, remedy))
    other = next((each for each in existing if each.schema_info.format is not candidate.format), None)
    if other is not None:  # the registry 0.6.0 never answers if such a type is added, and stays busy
        old, new = _name_of(other.schema_info), _name_of(candidate)
        remedy = f"keep the format {old}, or use another type"
        found.append(_refusal(candidate, "format-changed", other, old, new, remedy))
    return found


def _refusal(candidate: SchemaInfo, rule: str, old: SchemaVersion, before: str, now: str, remedy: str) -> Violation:
    return Violation(candidate.type, rule, before, now, remedy, old.version_info.version, "backward")

"""The check of a schema against earlier ones: a policy chooses versions, a format compares, findings are violations.

The registry itself compares Avro only. Nothing here sends requests to it. A format is loaded when it is first needed;
Avro and JSON Schema need the extras `avro` and `json`.
"""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, Final, Protocol, cast

from aiopravega.errors import ConfigurationError
from aiopravega.schema.policy import (
    CANNOT_DECIDE,
    DENY_ALL,
    ComparisonTerms,
    CompatibilityReport,
    Finding,
    Violation,
    sides,
)
from aiopravega.schema.registry.model import Compatibility, SchemaFormat, SchemaInfo, SchemaVersion, VersionInfo

_ENGINES: Final[Mapping[SchemaFormat, str]] = {
    SchemaFormat.AVRO: "aiopravega.schema.avro.compatibility",
    SchemaFormat.JSON: "aiopravega.schema.json.inclusion",
    SchemaFormat.PROTOBUF: "aiopravega.schema.protobuf.compatibility",
}


class _Engine(Protocol):
    """The module of a format."""

    parse: Callable[[SchemaInfo], Any]
    compare: Callable[[Any, Any, ComparisonTerms], list[Finding]]


def check(
    candidate: SchemaInfo,
    existing: Sequence[SchemaVersion],
    policy: Compatibility,
    *,
    declared_only: bool = False,
    as_columns: bool = False,
) -> CompatibilityReport:
    """Compare a schema that is to be added with the existing versions of its type, oldest first.

    The first schema of a type has no earlier versions: it is always compatible. A difference that cannot be decided is
    a violation (rule "cannot-decide"), so that "compatible" is never a guess.

    A JSON Schema without additionalProperties admits any further properties, so that a property added to it narrows
    it. `declared_only` assumes that writers write no properties that their schema does not declare.

    Columns cannot hold some types of Avro (a type inside itself, decimals of more than 38 digits, arrays of items
    without content). That is not a fault, since single events can be read. With `as_columns` it is a violation, even of
    a first schema; the rules begin with "column-".

    Raises:
        InvalidSchemaError: the candidate, or a version that it is compared with, cannot be parsed.
        ConfigurationError: the policy is unknown or incomplete, the format's extra is not installed, or `as_columns`
            is set for a format other than Avro.
    """
    wanted = sides(policy)
    if as_columns and candidate.format is not SchemaFormat.AVRO:
        raise ConfigurationError(f"as_columns is for Avro, but the schema {candidate.type} is {candidate.format}")
    engine = _engine(candidate.format)
    new = engine.parse(candidate) if engine else None
    compared: dict[int, VersionInfo] = {}
    violations: list[Violation] = []
    if policy.policy == DENY_ALL and existing:
        latest = existing[-1].version_info
        compared[latest.version] = latest
        violations.append(_denied(candidate, latest.version))
    for side in wanted:
        for each in side.of(existing):
            compared[each.version_info.version] = each.version_info
            violations += _violations(
                candidate, new, each, ComparisonTerms(side.direction, declared_only, as_columns), engine
            )
    if as_columns and engine and not compared:
        findings = engine.compare(new, new, ComparisonTerms(as_columns=True))
        violations += [
            Violation(f.path, f.rule, f.writer, f.reader, f.change_reader, None, "backward") for f in findings
        ]
    versions = tuple(compared[version] for version in sorted(compared))
    return CompatibilityReport(_format_name(candidate), policy, versions, tuple(violations))


def _engine(kind: SchemaFormat) -> _Engine | None:
    if kind not in _ENGINES:
        return None
    try:
        return cast(_Engine, import_module(_ENGINES[kind]))
    except ModuleNotFoundError as error:
        # Only the engine of JSON Schema needs packages that the client itself does not.
        raise ConfigurationError(
            f"comparing {kind} schemas needs the package {error.name}: pip install 'aiopravega[json]'"
        ) from None


def _violations(
    candidate: SchemaInfo, new: Any, each: SchemaVersion, terms: ComparisonTerms, engine: _Engine | None
) -> list[Violation]:
    old, version = each.schema_info, each.version_info.version

    def violation(path: str, rule: str, texts: tuple[str, str], remedy: str) -> Violation:
        return Violation(path, rule, *texts, remedy, version, terms.direction)

    texts = (_format_name(old), _format_name(candidate))
    if texts[0] != texts[1]:
        return [violation(candidate.type, "format-changed", texts, f"keep the format {texts[0]}, or use another type")]
    if engine is None:
        if old.schema_data == candidate.schema_data:
            return []
        texts = (f"{len(old.schema_data)} bytes", f"{len(candidate.schema_data)} bytes")
        remedy = "the meaning of a custom schema is not known here: compare the two by hand, or use AllowAny"
        return [violation(candidate.type, CANNOT_DECIDE, texts, remedy)]
    before = engine.parse(old)
    if terms.direction == "backward":
        return [
            violation(finding.path, finding.rule, (finding.writer, finding.reader), finding.change_reader)
            for finding in engine.compare(new, before, terms)
        ]
    return [
        violation(finding.path, finding.rule, (finding.reader, finding.writer), finding.change_writer)
        for finding in engine.compare(before, new, terms)
    ]


def _format_name(schema: SchemaInfo) -> str:
    if schema.format is SchemaFormat.CUSTOM:
        return schema.serialization_format.full_type_name or schema.format.value
    return schema.format.value


def _denied(candidate: SchemaInfo, version: int) -> Violation:
    remedy = "the group takes no further schemas: write with a schema that it has, or change its policy"
    texts = (f"version {version}", "a new schema")
    return Violation(candidate.type, "policy-denies-all", *texts, remedy, version, "backward")

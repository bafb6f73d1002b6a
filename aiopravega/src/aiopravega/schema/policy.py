"""The policies of a Schema Registry, and the results of a comparison of schemas: findings, violations, a report.

A policy chooses the versions that a new schema is compared with, and the direction. Each format has a comparison of its
own, an engine, which `aiopravega.schema.open.check` calls. Nothing here sends requests to a registry.

Names and nesting of policies are the registry's (`Compatibility` of its contract). One meaning differs: in `Advanced`,
the registry's server compares Backward beside a ForwardTill with all versions that it has fetched for the other side.
Here, Backward and Forward always mean the latest version.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

from aiopravega.errors import ConfigurationError
from aiopravega.schema.registry.model import ALLOW_ANY, Compatibility, SchemaVersion, VersionInfo

Direction = Literal["backward", "forward"]

CANNOT_DECIDE: Final = "cannot-decide"
ABSENT: Final = "(absent)"
_DIRECTIONS: Final[Mapping[str, tuple[Direction, ...]]] = {
    "Backward": ("backward",),
    "Forward": ("forward",),
    "Full": ("backward", "forward"),
}
_TRANSITIVE: Final = "Transitive"
_TILL: Final = "Till"
DENY_ALL: Final = "DenyAll"
ADVANCED: Final = "Advanced"
_NAMES: Final = (ALLOW_ANY, DENY_ALL, *_DIRECTIONS, *(f"{name}{_TRANSITIVE}" for name in _DIRECTIONS), ADVANCED)
_WIDEST: Final = 48  # characters of a cell in a table; JSON has everything
_INDENT: Final = " " * 9  # the width of the first column
_HEADER: Final = ("version", "direction", "path", "rule", "old", "new")


@dataclass(frozen=True, slots=True)
class ComparisonTerms:
    """The terms of a comparison of two schemas.

    `direction` says which schema is the new one: with "backward" it is the reader's. `declared_only` is for JSON: it
    assumes that writers write no properties that their schema does not declare, unless it has additionalProperties.
    `as_columns` is for Avro: types that columns cannot hold become findings (rules that begin with "column-").
    """

    direction: Direction = "backward"
    declared_only: bool = False
    as_columns: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """One reason why a reader cannot read all that a writer may write.

    An engine knows readers and writers; only the policy knows which of the two is the new schema. Therefore a finding
    has two remedies: one for a reader that can still be changed, one for a writer that can.

    `path` leads to a value in the data. `reader` and `writer` are the schemas' texts there. `change_reader` and
    `change_writer` are the remedies if that schema is not in use yet.
    """

    path: str
    rule: str
    reader: str
    writer: str
    change_reader: str
    change_writer: str


def undecided(path: str, reader: str, writer: str, why: str) -> Finding:
    """The finding that a construct is beyond what an engine can prove; it counts as a violation."""
    remedy = f"{why}: leave this part as it was, or compare the two by hand and use another policy once"
    return Finding(path, CANNOT_DECIDE, reader, writer, remedy, remedy)


@dataclass(frozen=True, slots=True)
class Side:
    """One direction of a policy. `since` is the oldest version that counts; None: the latest version only."""

    direction: Direction
    since: int | None

    def of(self, existing: Sequence[SchemaVersion]) -> Sequence[SchemaVersion]:
        """The versions that this side asks for; `existing` is oldest first."""
        if self.since is None:
            return existing[-1:]
        return [each for each in existing if each.version_info.version >= self.since]


def sides(policy: Compatibility) -> tuple[Side, ...]:
    """The directions and versions that a policy compares; none for `AllowAny` and `DenyAll`.

    Raises:
        ConfigurationError: the policy is not one of the registry's, or its `advanced` part is incomplete.
    """
    name = policy.policy
    if name in {ALLOW_ANY, DENY_ALL}:
        return ()
    if name == ADVANCED:
        return _advanced_sides(policy.advanced)
    directions = _DIRECTIONS.get(name.removesuffix(_TRANSITIVE))
    if directions is None:
        raise ConfigurationError(f"no compatibility policy {name!r}; there are {', '.join(_NAMES)}")
    return tuple(Side(direction, 0 if name.endswith(_TRANSITIVE) else None) for direction in directions)


def _advanced_sides(value: Mapping[str, Any] | None) -> tuple[Side, ...]:
    both_sides = []
    for direction in ("backward", "forward"):
        key = f"{direction}Policy"
        # The registry wraps each side twice; a side that is not asked for is absent or null.
        inner = ((value or {}).get(key) or {}).get(key)
        if inner:
            both_sides.append(_advanced_side(direction, inner))
    if not both_sides:
        raise ConfigurationError(
            "the policy Advanced needs backwardPolicy, forwardPolicy or both: compatibility.advanced makes it"
        )
    return tuple(both_sides)


def _advanced_side(direction: Direction, inner: Mapping[str, Any]) -> Side:
    name, base = inner.get("name"), direction.capitalize()
    if name == base:
        return Side(direction, None)
    if name == base + _TRANSITIVE:
        return Side(direction, 0)
    till = inner.get("versionInfo")
    if name != base + _TILL or not isinstance(till, Mapping) or not isinstance(till.get("version"), int):
        raise ConfigurationError(
            f"{direction}Policy of the policy Advanced is {dict(inner)}; it is named {base}, {base}{_TRANSITIVE}, or "
            f"{base}{_TILL} with a versionInfo"
        )
    return Side(direction, till["version"])


def advanced(backward: str | VersionInfo | None = None, forward: str | VersionInfo | None = None) -> Compatibility:
    """The policy `Advanced`, as the registry spells it: for each side a name, or the version till which it goes back.

    Raises:
        ConfigurationError: a name does not belong to its side, or both sides are absent.
    """
    value = {}
    for direction, given in (("backward", backward), ("forward", forward)):
        if given is None:
            continue
        if isinstance(given, VersionInfo):
            inner = {"name": direction.capitalize() + _TILL, "versionInfo": given.to_json()}
        else:
            inner = {"name": given}
        value[f"{direction}Policy"] = {f"{direction}Policy": inner}
    made = Compatibility(policy=ADVANCED, advanced=value)
    sides(made)
    return made


def parse_policy(text: str, existing: Sequence[SchemaVersion] = ()) -> Compatibility:
    """A policy from its text: a name, or for `Advanced` sides joined by "+", such as "BackwardTill=2+Forward".

    `existing` gives the versions for a "till"; a version that does not exist is refused.

    Raises:
        ConfigurationError: there is no such policy, or no such version.
    """
    if "=" not in text and "+" not in text:
        made = Compatibility(policy=text)
        sides(made)
        return made
    given: dict[str, str | VersionInfo] = {}
    for part in text.split("+"):
        name, _, version = part.strip().partition("=")
        direction = name.removesuffix(_TILL).removesuffix(_TRANSITIVE).lower()
        if direction not in {"backward", "forward"} or direction in given or name.endswith(_TILL) != bool(version):
            raise ConfigurationError(f"{text!r} is not a policy: give, for example, BackwardTill=2+ForwardTransitive")
        given[direction] = _version(version, existing) if version else name
    return advanced(**given)


def _version(text: str, existing: Sequence[SchemaVersion]) -> VersionInfo:
    for each in existing:
        if str(each.version_info.version) == text:
            return each.version_info
    known = ", ".join(str(each.version_info.version) for each in existing) or "none"
    raise ConfigurationError(f"there is no version {text!r} to compare with; the versions are: {known}")


@dataclass(frozen=True, slots=True)
class Violation:
    """One difference by which two schemas are not compatible.

    `direction` is "backward" if the new schema cannot read data of the old one, "forward" if the old one cannot read
    data of the new one. `version` is the old schema's version; None if the old schema has none.
    """

    path: str
    rule: str
    old: str
    new: str
    remedy: str
    version: int | None
    direction: Direction


@dataclass(frozen=True, slots=True)
class CompatibilityReport:
    """The answer of a check: `compared` are the versions that the policy asked for, oldest first."""

    format: str
    policy: Compatibility
    compared: tuple[VersionInfo, ...]
    violations: tuple[Violation, ...]

    @property
    def compatible(self) -> bool:
        """True if there are no violations."""
        return not self.violations

    def to_json(self) -> dict[str, Any]:
        """Everything, as JSON's types."""
        return {
            "format": self.format,
            "policy": self.policy.to_json(),
            "compatible": self.compatible,
            "compared": [version.to_json() for version in self.compared],
            "violations": [asdict(violation) for violation in self.violations],
        }

    def table(self) -> str:
        """The violations as a table of text, long texts shortened, each with its remedy; one line if there are none."""
        versions = ", ".join(str(version.version) for version in self.compared) or "none"
        summary = f"{self.format}, {self.policy.policy}, compared with versions: {versions}"
        if self.compatible:
            return f"compatible ({summary})"
        rows = [
            (
                "" if violation.version is None else str(violation.version),
                violation.direction,
                violation.path,
                violation.rule,
                _short(violation.old),
                _short(violation.new),
            )
            for violation in self.violations
        ]
        count = f"{len(rows)} violation{'s' if len(rows) > 1 else ''}"
        head, rule, *lines = _table(_HEADER, rows)
        violations = [
            f"{line}\n{_INDENT}remedy: {violation.remedy}"
            for line, violation in zip(lines, self.violations, strict=True)
        ]
        return "\n".join([head, rule, *violations]) + f"\n\nnot compatible: {count} ({summary})"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _WIDEST else f"{line[: _WIDEST - 1]}…"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[column]) for row in (header, *rows)) for column in range(len(header))]
    lines = (header, ["-" * width for width in widths], *rows)
    return ["  ".join(f"{cell:{width}}" for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]

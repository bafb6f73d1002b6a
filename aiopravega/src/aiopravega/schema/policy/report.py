"""The answer of a check: the policy, the versions that were compared, and each violation."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from aiopravega.schema.policy.findings import Direction
from aiopravega.schema.registry.model import Compatibility, VersionInfo

_WIDEST: Final = 48  # characters of a cell in a table; JSON has everything
_INDENT: Final = " " * 9  # the width of the first column
_HEADER: Final = ("version", "direction", "path", "rule", "old", "new")


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

"""The result of a comparison with a group: the violations, and the candidate's version if it was added."""

from dataclasses import dataclass
from typing import Any, Self

from aiopravega.errors import SchemaRefusedError
from aiopravega.schema.policy import CompatibilityReport
from aiopravega.schema.registry.model import SchemaInfo, VersionInfo


@dataclass(frozen=True, slots=True)
class SchemaReport:
    """A candidate and a group of the registry.

    `known` is the version under which the group had an equal schema before. `registered` is the version that it has
    now, if it was to be registered. `made_group` is true if the group was made for it.
    """

    group: str
    namespace: str
    candidate: SchemaInfo
    against: str
    compatibility: CompatibilityReport
    known: VersionInfo | None = None
    registered: VersionInfo | None = None
    made_group: bool = False

    @property
    def passed(self) -> bool:
        """True if the candidate may be used."""
        return self.compatibility.compatible

    def require(self) -> Self:
        """The same report if the candidate may be used.

        Raises:
            SchemaRefusedError: the candidate may not be used; the message lists the violations.
        """
        if not self.passed:
            raise SchemaRefusedError(self.table())
        return self

    def summary(self) -> str:
        """One line."""
        what = f"{self.candidate.type} ({self.compatibility.format}) for group {self.group}"
        policy = self.compatibility.policy.policy
        if not self.passed:
            count = len(self.compatibility.violations)
            return f"refused: {what}: {count} violation{'s' if count > 1 else ''} of {policy}"
        if self.known is not None:
            outcome = f"the group has it as version {self.known.version}"
        elif not self.compatibility.compared:
            outcome = f"{policy}: there was nothing to compare it with"
        else:
            outcome = f"{policy}: compared with " + ", ".join(
                f"v{each.version}" for each in self.compatibility.compared
            )
        if self.registered is not None and self.known is None:
            outcome += f"; registered as version {self.registered.version}"
        return f"passed: {what}: {outcome}"

    def table(self) -> str:
        """The summary, and the violations as a table of text."""
        return self.summary() if self.passed else f"{self.summary()}\n{self.compatibility.table()}"

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "passed": self.passed,
            "summary": self.summary(),
            "group": self.group,
            "namespace": self.namespace,
            "type": self.candidate.type,
            "against": self.against,
            "known": None if self.known is None else self.known.to_json(),
            "registered": None if self.registered is None else self.registered.to_json(),
            **self.compatibility.to_json(),
        }

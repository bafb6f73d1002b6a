"""The policies of a Schema Registry, and the results of a comparison of schemas: findings, violations, a report.

A policy chooses the versions that a new schema is compared with, and the direction. Each format has a comparison of its
own, which `aiopravega.schema.open.check` calls. Nothing here sends requests to a registry.
"""

from aiopravega.schema.policy.findings import Direction, Finding
from aiopravega.schema.policy.policies import Side, advanced, parse_policy, sides
from aiopravega.schema.policy.report import CompatibilityReport, Violation

__all__ = [
    "CompatibilityReport",
    "Direction",
    "Finding",
    "Side",
    "Violation",
    "advanced",
    "parse_policy",
    "sides",
]

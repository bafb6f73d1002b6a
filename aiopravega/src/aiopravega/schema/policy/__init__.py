"""The policies of a Schema Registry, and what a comparison of schemas answers: findings, violations, a report.

Which versions a new schema is compared with, and in which direction. The comparison is each format's own, and
`aiopravega.schema.open.check` asks for it. Nothing here talks to a registry.
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

"""Whether a schema may follow others: the registry's policies, checked here for Avro, JSON Schema and Protobuf.

The registry itself checks Avro only. Nothing here talks to it: who has the schemas calls `check`. Each format has an
engine of its own, loaded when it is first needed; Avro and JSON Schema need the extras `avro` and `json`.
"""

from aiopravega.schema.compatibility.check import check
from aiopravega.schema.compatibility.findings import Direction, Finding
from aiopravega.schema.compatibility.policies import Side, advanced, parse_policy, sides
from aiopravega.schema.compatibility.report import CompatibilityReport, Violation

__all__ = [
    "CompatibilityReport",
    "Direction",
    "Finding",
    "Side",
    "Violation",
    "advanced",
    "check",
    "parse_policy",
    "sides",
]

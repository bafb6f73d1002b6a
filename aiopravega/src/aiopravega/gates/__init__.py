"""Gates: whether a schema, or data, may pass, checked against what the Schema Registry has.

Needs the extra `schema`. Knows no scheduler: it gives reports, and who asks decides what becomes of them.
"""

from aiopravega.gates.data import check_data
from aiopravega.gates.data_report import Claim, DataReport, Failure
from aiopravega.gates.groups import DEFAULT_POLICY, Group, find_group, make_group, need_group
from aiopravega.gates.report import GateReport
from aiopravega.gates.schemas import ALL, LATEST, POLICY, check_schema, register_schema

__all__ = [
    "ALL",
    "DEFAULT_POLICY",
    "LATEST",
    "POLICY",
    "Claim",
    "DataReport",
    "Failure",
    "GateReport",
    "Group",
    "check_data",
    "check_schema",
    "find_group",
    "make_group",
    "need_group",
    "register_schema",
]

"""Gates: whether a schema, or data, may pass, checked against what the Schema Registry has.

Needs the extra `schema`. It knows no scheduler: it gives reports, and the caller decides what to do with them.
"""

from aiopravega.gates.data import check_data
from aiopravega.gates.data_report import Claim, DataReport, Failure
from aiopravega.gates.schemas import check_candidate, check_schema

__all__ = ["Claim", "DataReport", "Failure", "check_candidate", "check_data", "check_schema"]

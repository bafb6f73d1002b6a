"""Gates: checks of a schema, or of data, against the Schema Registry.

They need the extra `schema`. They return reports; the caller, such as a scheduler, decides what follows.
"""

from aiopravega.gates.data import DataReport, EventFailure, SchemaClaim, check_data
from aiopravega.gates.schemas import check_candidate, check_schema

__all__ = ["DataReport", "EventFailure", "SchemaClaim", "check_candidate", "check_data", "check_schema"]

"""The only way into the groups of a Schema Registry: the group of a stream, and the registration of a schema.

Clients, serializers, gates, the catalog, the command line, Spark, Airflow and Dagster register by `register_schema` or
`offer_schema`, so a schema that one of them refuses is refused by all. This package knows no events: see
`aiopravega.schema.serializers` and `aiopravega.schema.open.blocks`.
"""

from aiopravega.schema.open.check import check
from aiopravega.schema.open.compare import ALL, LATEST, POLICY, Question, compare
from aiopravega.schema.open.groups import Group, GroupAddress, NewGroup, find_group, make_group, need_group
from aiopravega.schema.open.register import offer_schema, register_schema
from aiopravega.schema.open.report import SchemaReport

__all__ = [
    "ALL",
    "LATEST",
    "POLICY",
    "Group",
    "GroupAddress",
    "NewGroup",
    "Question",
    "SchemaReport",
    "check",
    "compare",
    "find_group",
    "make_group",
    "need_group",
    "offer_schema",
    "register_schema",
]

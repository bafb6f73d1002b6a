"""The one way to the groups of a Schema Registry: which group a stream has, and how a schema gets into it.

Clients, serializers, gates, the catalog, the command line, Spark, Airflow and Dagster register by `register_schema` or
`offer_schema`, so what one of them refuses, all refuse. Knows no events: see `aiopravega.schema.serializers` and
`aiopravega.schema.open.blocks`.
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

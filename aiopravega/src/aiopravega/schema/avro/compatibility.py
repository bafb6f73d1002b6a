"""The compatibility check of Avro schemas: the engine that `aiopravega.schema.open.check` loads."""

from typing import Final

from aiopravega.schema.avro import model as avro
from aiopravega.schema.avro import parsing, plan
from aiopravega.schema.avro.limits import Limit, limits_of, written_limits
from aiopravega.schema.avro.resolution import resolve
from aiopravega.schema.policy import ABSENT, ComparisonTerms, Finding
from aiopravega.schema.registry.model import SchemaInfo

_RAW: Final = "read the events raw or one by one"


def parse(schema: SchemaInfo) -> avro.AvroType:
    """The type that a schema's text describes.

    Raises:
        InvalidSchemaError: it is not JSON, or not an Avro schema.
    """
    return parsing.parse(schema.schema_data, f"the Avro schema of {schema.type}", schema.type)


def compare(reader: avro.AvroType, writer: avro.AvroType, terms: ComparisonTerms) -> list[Finding]:
    """The differences by which data of the writer's type cannot be read with the reader's; empty if all of it can."""
    resolution = resolve(reader, writer)
    return [*resolution.findings, *(_column_findings(reader, resolution.step) if terms.as_columns else ())]


def _column_findings(reader: avro.AvroType, step: plan.Step) -> list[Finding]:
    """The limits of a reader's schema, and of a plan that reads with it."""
    path = avro.label_of(reader)
    findings = [_finding(limit, avro.source_of(limit.type), ABSENT) for limit in limits_of(reader, path)]
    return findings + [_finding(limit, ABSENT, avro.source_of(limit.type)) for limit in written_limits(step, path)]


def _finding(limit: Limit, reader: str, writer: str) -> Finding:
    remedy = f"{limit.problem}: {limit.remedy}, or {_RAW}"
    return Finding(limit.path, limit.rule, reader, writer, remedy, remedy)

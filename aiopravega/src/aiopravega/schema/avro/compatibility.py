"""The compatibility check of Avro schemas: the engine that `aiopravega.schema.open.check` loads."""

from aiopravega.schema.avro import parsing
from aiopravega.schema.avro.limits import column_findings
from aiopravega.schema.avro.model import AvroType
from aiopravega.schema.avro.resolution import resolve
from aiopravega.schema.policy.findings import ComparisonTerms, Finding
from aiopravega.schema.registry.model import SchemaInfo


def parse(schema: SchemaInfo) -> AvroType:
    """The type that a schema's text describes.

    Raises:
        InvalidSchemaError: it is not JSON, or not an Avro schema.
    """
    return parsing.parse(schema.schema_data, f"the Avro schema of {schema.type}", schema.type)


def compare(reader: AvroType, writer: AvroType, terms: ComparisonTerms) -> list[Finding]:
    """The differences by which data of the writer's type cannot be read with the reader's; empty if all of it can."""
    resolution = resolve(reader, writer)
    return [*resolution.findings, *(column_findings(reader, resolution.step) if terms.as_columns else ())]

"""JSON Schema: a proof that a reader's schema admits all values that a writer's schema admits.

In general this cannot be decided. Here it is proved keyword by keyword; a keyword without a proof is reported, never
skipped. The docs page `schema-compatibility` lists the libraries that were tried instead, and their errors.
"""

from aiopravega.errors import InvalidSchemaError
from aiopravega.schema.json.document import SchemaNode, endless, read
from aiopravega.schema.json.inclusion.inclusion import compare
from aiopravega.schema.registry.model import SchemaInfo

__all__ = ["SchemaNode", "compare", "parse"]


def parse(schema: SchemaInfo) -> SchemaNode:
    """The schema that a text describes.

    Raises:
        InvalidSchemaError: it is not JSON, breaks the rules of its dialect, or refers to itself without end.
    """
    root = read(schema)
    loop = endless(root) if isinstance(root.schema, dict) else None
    if loop is not None:
        raise InvalidSchemaError(f"the JSON Schema of {schema.type} refers to itself without end by {loop!r}")
    return root

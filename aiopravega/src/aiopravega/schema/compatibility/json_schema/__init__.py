"""JSON Schema: whether all that a writer's schema admits is admitted by a reader's.

In general this cannot be decided. Here it is proved keyword by keyword; what cannot be proved is told, never passed
over. The docs page `schema-compatibility` says which libraries were tried instead, and what they got wrong.
"""

from aiopravega.schema.compatibility.json_schema.document import Node, parse
from aiopravega.schema.compatibility.json_schema.inclusion import compare

__all__ = ["Node", "compare", "parse"]

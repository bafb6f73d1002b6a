"""Avro: which data a reader's schema can resolve, by the section "Schema Resolution" of Avro's specification.

Both parsers on PyPI take schemas that Avro does not (a wrong default, two fields of a name), and neither tells where
two schemas differ: the docs page `schema-compatibility` has the comparison. Here it is two modules without
dependencies: what a schema is, and how two of them go together.
"""

from aiopravega.schema.compatibility.avro.model import AvroType, parse
from aiopravega.schema.compatibility.avro.resolution import compare

__all__ = ["AvroType", "compare", "parse"]

"""Protobuf: which messages a reader reads as they were meant, going by what travels: numbers and wire types.

Names of fields, messages and packages do not travel, services say nothing about data, and of a descriptor set only what
an event of the schema's type can hold counts. `buf` compares files instead, and has no option for that; the docs page
`schema-compatibility` has the comparison.
"""

from aiopravega.schema.protobuf.compatibility.messages import compare, parse

__all__ = ["compare", "parse"]

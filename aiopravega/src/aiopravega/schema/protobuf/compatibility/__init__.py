"""The compatibility check of Protobuf messages, by the numbers and wire types that are in events.

Names of fields, messages and packages are not in events, services do not describe data, and of a descriptor set only
the types that an event of the schema can hold count. `buf` compares files instead and has no option for this; the docs
page `schema-compatibility` has the comparison.
"""

from aiopravega.schema.protobuf.compatibility.messages import compare, parse

__all__ = ["compare", "parse"]

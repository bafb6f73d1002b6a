"""Whether a default of a field is a value of the field's type, as Avro writes values in JSON."""

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from aiopravega.schema.compatibility.avro.model import AvroType

_INT: Final = range(-(2**31), 2**31)
_LONG: Final = range(-(2**63), 2**63)
_NOT_FINITE: Final = ["NaN", "Infinity", "-Infinity"]
_LAST_BYTE: Final = "\u00ff"


def fits(value: Any, kind: "AvroType") -> bool:
    """Whether a value that was read from JSON belongs to a type; for a union, to any of its branches."""
    match kind.kind:
        case "null":
            return value is None
        case "boolean":
            return isinstance(value, bool)
        case "int" | "long":
            return _is_whole(value) and value in (_INT if kind.kind == "int" else _LONG)
        case "float" | "double":
            return _is_whole(value) or isinstance(value, float) or value in _NOT_FINITE
        case "string" | "enum":
            return isinstance(value, str) and (kind.kind == "string" or value in kind.symbols)
        case "bytes" | "fixed":
            right = isinstance(value, str) and all(letter <= _LAST_BYTE for letter in value)
            return right and (kind.kind == "bytes" or len(value) == kind.size)
        case "union":
            # Avro before 1.12 asks for the first branch; taking any refuses less, and harms no comparison.
            return any(fits(value, branch) for branch in kind.branches)
        case "record":
            return isinstance(value, dict) and all(
                fits(value[field.name], field.type) if field.name in value else field.has_default
                for field in kind.fields
            )
    if kind.items is None:
        return False
    if kind.kind == "array":
        return isinstance(value, list) and all(fits(each, kind.items) for each in value)
    return isinstance(value, dict) and all(fits(each, kind.items) for each in value.values())


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)

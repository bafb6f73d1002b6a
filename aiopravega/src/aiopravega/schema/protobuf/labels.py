"""Whether a field of a descriptor is required or repeated, in every version of protobuf that is allowed.

Older ones say it by the label only, about which newer ones warn.
"""

from typing import Any

from google.protobuf.descriptor import FieldDescriptor


def is_required(field: FieldDescriptor) -> bool:
    """Whether each message has the field."""
    known = getattr(field, "is_required", None)
    return _label(field) == FieldDescriptor.LABEL_REQUIRED if known is None else bool(known)


def is_repeated(field: FieldDescriptor) -> bool:
    """Whether the field is a list or a map."""
    known = getattr(field, "is_repeated", None)
    return _label(field) == FieldDescriptor.LABEL_REPEATED if known is None else bool(known)


def _label(field: Any) -> int:
    # Not known to the types of newer ones.
    label: int = field.label
    return label

"""Labels of a descriptor's field: required or repeated, in every version of protobuf that is allowed.

Older versions have the label only; newer ones warn about its use.
"""

from typing import Any

from google.protobuf.descriptor import FieldDescriptor


def is_required(field: FieldDescriptor) -> bool:
    """True if each message must have the field."""
    known = getattr(field, "is_required", None)
    return _label(field) == FieldDescriptor.LABEL_REQUIRED if known is None else bool(known)


def is_repeated(field: FieldDescriptor) -> bool:
    """True if the field is a list or a map."""
    known = getattr(field, "is_repeated", None)
    return _label(field) == FieldDescriptor.LABEL_REPEATED if known is None else bool(known)


def _label(field: Any) -> int:
    # The types of newer versions do not have it.
    label: int = field.label
    return label

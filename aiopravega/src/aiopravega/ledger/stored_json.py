"""JSON in the tables of ledgers, read strictly: what is not understood is refused, not guessed. No I/O."""

import json
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator

from aiopravega.errors import LedgerError
from aiopravega.names import StreamName

M = TypeVar("M", bound=BaseModel)


def object_in(value: bytes) -> dict[str, Any] | None:
    """The JSON object that a value spells; None: it spells none, or has a name twice, or a number that is not one."""
    try:
        found = json.loads(value.decode(), object_pairs_hook=_unique, parse_constant=_refused)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def first_version(model: type[M], value: bytes, what: str) -> M:
    """A value of which there is one version so far.

    Raises:
        LedgerError: it is damaged, or of another version; `what` says what it should be.
    """
    try:
        found = object_in(value)
        if found is None or not has_version(found, 1):
            raise ValueError(f"{value[:80]!r} is not one JSON object of version 1")
        return model.model_validate_json(value, strict=True)
    except ValueError as error:  # pydantic's are
        raise LedgerError(f"not {what} that this release reads: {error}") from None


def _check_names(value: object) -> object:
    if isinstance(value, dict) and value.keys() != {"scope", "stream"}:
        raise ValueError("a stream has a scope and a name, and nothing else")
    return value


# A stream in a record.
StoredStream = Annotated[StreamName, BeforeValidator(_check_names)]


def has_version(found: dict[str, Any], *versions: int) -> bool:
    """Whether it says to be of one of these versions: `true` and `1.0` are no versions."""
    version = found.get("version")
    return type(version) is int and version in versions


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands twice")
    return found


def _refused(constant: str) -> None:
    raise ValueError(f"{constant} is not a number")

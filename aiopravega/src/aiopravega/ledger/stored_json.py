"""JSON in the tables of ledgers, and the default author of a record. No I/O.

JSON is read strictly: a value that is not understood is refused, not guessed. A value ends with a checksum of all
before it, so that a damaged value is refused.
"""

import getpass
import json
import socket
import zlib
from datetime import UTC, datetime
from typing import Annotated, Any, Final, TypeVar

from pydantic import AfterValidator, AwareDatetime, BaseModel, BeforeValidator

from aiopravega.errors import LedgerError
from aiopravega.names import StreamName

M = TypeVar("M", bound=BaseModel)
_CHECKSUM: Final = b',"crc32":'


def with_checksum(text: str) -> bytes:
    """A value for a table: a JSON object, with the CRC-32 of its text as its last field."""
    content = text.encode()
    return content[:-1] + _CHECKSUM + b"%d}" % zlib.crc32(content)


def without_checksum(value: bytes) -> bytes:
    """The JSON object in a value of a table.

    Raises:
        ValueError: it has no checksum at its end, or is not what the checksum was made of.
    """
    content = value.rpartition(_CHECKSUM)[0] + b"}"
    if with_checksum(content.decode()) != value:
        raise ValueError("it is damaged: its checksum is wrong or missing")
    return content


def object_in(value: bytes) -> dict[str, Any] | None:
    """The JSON object of a value; None: it is not an object, has a name twice, or a number that JSON does not allow."""
    try:
        found = json.loads(value.decode(), object_pairs_hook=_unique, parse_constant=_refused)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def read_value(model: type[M], value: bytes, version: int, what: str) -> M:
    """Read a value of a kind that has one version.

    Raises:
        LedgerError: it is damaged, or of another version; `what` names its kind in the message.
    """
    try:
        found = object_in(value)
        if found is None or not has_version(found, version):
            raise ValueError(f"{value[:80]!r} is not one JSON object of version {version}")
        return model.model_validate_json(without_checksum(value), strict=True)
    except ValueError as error:  # pydantic's are
        raise LedgerError(f"not {what} that this release reads: {error}") from None


def _check_names(value: object) -> object:
    if isinstance(value, dict) and value.keys() != {"scope", "stream"}:
        raise ValueError("a stream has a scope and a name, and no other field")
    return value


# A stream in a record.
StoredStream = Annotated[StreamName, BeforeValidator(_check_names)]


def _read_time(value: object) -> object:
    # pydantic's own reading takes the text "0" for a moment of 1970.
    return datetime.fromisoformat(value) if isinstance(value, str) else value


def _in_utc(value: datetime) -> datetime:
    # Two times in one zone are compared by their clocks, which show an hour of autumn twice.
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise ValueError(f"{value.isoformat()} is before or after all times in UTC") from None


# A moment in a record, in UTC whatever zone its ISO 8601 text has.
StoredTime = Annotated[AwareDatetime, BeforeValidator(_read_time), AfterValidator(_in_utc)]


def has_version(found: dict[str, Any], *versions: int) -> bool:
    """True if an object has one of these versions; `true` and `1.0` are not versions."""
    version = found.get("version")
    return type(version) is int and version in versions


def myself() -> str:
    """The default author of a record: `user@host` of this process."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError):  # containers run as users without a name
        user = "unknown"
    return f"{user}@{socket.gethostname()}"


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands twice")
    return found


def _refused(constant: str) -> None:
    raise ValueError(f"{constant} is not a number")

"""Answers that report failures, and our error for each."""

from dataclasses import dataclass

from aiopravega import errors
from aiopravega.wire.command import Reply, command
from aiopravega.wire.commands import Bool, Int, InvalidEventNumber, Long, Text

TOKEN_EXPIRED = 1
ILLEGAL_ARGUMENT = 0
_TRACE_SHOWN = 300


@dataclass(frozen=True, slots=True)
class _SegmentFailure(Reply):
    request_id: Long
    segment: Text
    server_stack_trace: Text = ""


@command(51)
class SegmentIsSealed(_SegmentFailure):
    """The segment takes no more appends."""

    offset: Long = -1


@command(52)
class SegmentAlreadyExists(_SegmentFailure):
    """A segment of this name exists."""


@command(53)
class NoSuchSegment(_SegmentFailure):
    """The segment does not exist."""

    offset: Long = -1


@command(80)
class TableSegmentNotEmpty(_SegmentFailure):
    """A table segment that still has entries cannot be deleted."""


@command(81)
class TableKeyDoesNotExist(_SegmentFailure):
    """An update or removal demanded a version of a key that does not exist."""


@command(82)
class TableKeyBadVersion(_SegmentFailure):
    """An update or removal demanded another version than the key has."""


@command(50)
class WrongHost(Reply):
    """The segment is owned by another segment store (which may be named)."""

    request_id: Long
    segment: Text
    correct_host: Text
    server_stack_trace: Text = ""


@command(56)
class SegmentIsTruncated(Reply):
    """The bytes asked for were removed; the segment begins at `start_offset`."""

    request_id: Long
    segment: Text
    start_offset: Long
    server_stack_trace: Text = ""
    offset: Long = -1


@command(57)
class OperationUnsupported(Reply):
    """The server does not know the operation."""

    request_id: Long
    operation_name: Text
    server_stack_trace: Text = ""


@command(37)
class SegmentAttributeUpdated(Reply):
    """The answer to an update of an attribute, which says if the attribute had the expected value.

    It also answers a merge that expects another value of the attribute.
    """

    request_id: Long
    success: Bool


@command(60)
class AuthTokenCheckFailed(Reply):
    """The delegation token was refused; on reads `request_id` is the *offset* that was asked for."""

    request_id: Long
    server_stack_trace: Text = ""
    error_code: Int = -1


@command(61)
class ErrorMessage(Reply):
    """The server had an internal error."""

    request_id: Long
    segment: Text
    message: Text
    error_code: Int = -1


def error_for(reply: Reply, segment: str) -> errors.PravegaError | None:
    """The error that an answer about `segment` stands for; None if the answer is not a failure."""
    match reply:
        case WrongHost():
            return errors.WrongHostError(f"{segment} is owned by another segment store ({reply.correct_host or '?'})")
        case SegmentIsSealed():
            return errors.SegmentSealedError(f"{segment} is sealed: it was scaled away, or its stream is sealed")
        case NoSuchSegment():
            return errors.SegmentNotFoundError(
                f"{segment} does not exist: deleted, truncated, or its transaction ended"
            )
        case SegmentIsTruncated():
            return errors.StreamTruncatedError(
                f"{segment} starts at offset {reply.start_offset}: retention or a truncation removed the requested "
                "bytes. Start from the head, or keep the data longer."
            )
        case TableKeyBadVersion() | TableKeyDoesNotExist():
            return errors.TableConflictError(f"a key of {segment} does not have the version that the update expects")
        case AuthTokenCheckFailed(error_code=code) if code == TOKEN_EXPIRED:
            return errors.TokenExpiredError(f"the delegation token for {segment} has expired")
        case AuthTokenCheckFailed():
            return errors.AuthenticationError(
                f"the segment store refused the delegation token for {segment}: check the credentials and their rights"
            )
        case InvalidEventNumber():
            return errors.ProtocolError(f"{segment}: the server did not expect event number {reply.event_number}")
        case OperationUnsupported():
            return errors.ProtocolError(f"{segment}: this server does not support {reply.operation_name}")
        case ErrorMessage(error_code=code) if code == ILLEGAL_ARGUMENT:
            return errors.ProtocolError(f"{segment}: the segment store refused: {reply.message[:_TRACE_SHOWN]}")
        case ErrorMessage():
            return errors.ServerError(f"{segment}: the segment store failed: {reply.message[:_TRACE_SHOWN]}")
        case SegmentAttributeUpdated(success=False):
            return errors.AlreadyExistsError(f"{segment} has an attribute already that an update expects to be absent")
        case SegmentAlreadyExists():
            return errors.AlreadyExistsError(f"{segment} exists already")
        case TableSegmentNotEmpty():
            return errors.ProtocolError(f"{segment} is not empty: only an empty table can be removed")
    return None

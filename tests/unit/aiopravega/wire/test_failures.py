"""Which error an answer becomes, and whether trying again can help."""

import pytest

from aiopravega import errors, wire
from aiopravega.wire import failures

SEGMENT = "examples/orders/0.#epoch.0"


@pytest.mark.parametrize(
    ("reply", "error", "retryable", "says"),
    [
        (wire.WrongHost(1, SEGMENT, "store-2"), errors.WrongHostError, True, "store-2"),
        (wire.WrongHost(1, SEGMENT, ""), errors.WrongHostError, True, "another segment store"),
        (wire.SegmentIsSealed(1, SEGMENT), errors.SegmentSealedError, False, "scaled away"),
        (wire.NoSuchSegment(1, SEGMENT), errors.SegmentNotFoundError, False, "does not exist"),
        (wire.SegmentIsTruncated(1, SEGMENT, 4096), errors.StreamTruncatedError, False, "starts at offset 4096"),
        (wire.SegmentAlreadyExists(1, SEGMENT), errors.AlreadyExistsError, False, "exists already"),
        (wire.SegmentAttributeUpdated(1, False), errors.AlreadyExistsError, False, "to be absent"),
        (wire.TableKeyBadVersion(1, SEGMENT), errors.TableConflictError, False, "version"),
        (wire.TableKeyDoesNotExist(1, SEGMENT), errors.TableConflictError, False, "version"),
        (wire.TableSegmentNotEmpty(1, SEGMENT), errors.ProtocolError, False, "not empty"),
        (wire.AuthTokenCheckFailed(1, "", 1), errors.TokenExpiredError, True, "expired"),
        (wire.AuthTokenCheckFailed(1, "", 0), errors.AuthenticationError, False, "check the credentials"),
        (wire.AuthTokenCheckFailed(1), errors.AuthenticationError, False, "check the credentials"),
        (wire.OperationUnsupported(1, "fly"), errors.ProtocolError, False, "fly"),
        (wire.ErrorMessage(1, SEGMENT, "bad offset", 0), errors.ProtocolError, False, "bad offset"),
        (wire.ErrorMessage(1, SEGMENT, "out of memory", -1), errors.ServerError, True, "out of memory"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, wire.Reply) else None,
)
def test_a_failure_becomes_an_error_that_names_the_segment(reply, error, retryable, says):
    found = wire.error_for(reply, SEGMENT)

    assert found is not None
    assert type(found) is error
    assert found.retryable is retryable
    assert SEGMENT in str(found)
    assert says in str(found)


def test_every_failure_is_an_error_and_nothing_else_is(commands):
    for command in commands:
        if not isinstance(command, wire.Reply):
            continue
        fails = type(command).__module__ == failures.__name__ or isinstance(command, wire.InvalidEventNumber)
        assert (wire.error_for(command, SEGMENT) is not None) == fails


def test_a_long_message_of_the_server_is_shortened():
    found = wire.error_for(wire.ErrorMessage(1, SEGMENT, "x" * 60000, -1), SEGMENT)

    assert len(str(found)) < 500

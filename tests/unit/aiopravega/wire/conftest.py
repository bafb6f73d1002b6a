"""One command of every kind, with the values that the golden frames in tests/vectors/wire.json were made of."""

import uuid

import pytest

from aiopravega import wire

WRITER = uuid.UUID("01234567-89ab-cdef-fedc-ba9876543210")
SEGMENT = "examples/orders/3.#epoch.2"
TRANSIENT = f"{SEGMENT}#transient.{WRITER.hex}"
FAR = 1 << 40
UPDATES = (wire.AttributeUpdate(WRITER, 1), wire.AttributeUpdate(uuid.UUID(int=9), 5, 4))
KEYS = (wire.TableKey(b"k1"), wire.TableKey(b""))
ENTRIES = ((wire.TableKey(b"k1", wire.KEY_NOT_EXISTS), b"v1"), (wire.TableKey(b"k2", 5), b""))

COMMANDS = [
    wire.Hello(16, 5),
    wire.KeepAlive(),
    wire.SetupAppend(7, WRITER, SEGMENT, "token"),
    wire.AppendSetup(7, SEGMENT, WRITER, -(2**63)),
    wire.AppendBlock(WRITER, wire.event_header(3) + b"abc"),
    wire.AppendBlockEnd(WRITER, 11, b"rest", 2, 41, 8),
    wire.ConditionalAppend.of(WRITER, 41, 4096, b"abc", 8),
    wire.ConditionalCheckFailed(WRITER, 41, 8),
    wire.DataAppended(WRITER, 41, 39, 8, 4096),
    wire.InvalidEventNumber(WRITER, 8, "trace", 41),
    wire.CreateTransientSegment(7, WRITER, SEGMENT, "token"),
    wire.SegmentCreated(7, TRANSIENT),
    wire.MergeSegments(8, SEGMENT, TRANSIENT, "token", UPDATES),
    wire.SegmentsMerged(8, SEGMENT, TRANSIENT, 9_000_008),
    wire.SegmentAttributeUpdated(8, False),
    wire.ReadSegment(SEGMENT, FAR, 65536, "token", 9),
    wire.SegmentRead(SEGMENT, FAR, True, False, b"some bytes", 9),
    wire.GetStreamSegmentInfo(10, SEGMENT, "token"),
    wire.StreamSegmentInfo(10, SEGMENT, True, False, False, 1_700_000_000_000, 8192, 4096),
    wire.GetSegmentAttribute(15, SEGMENT, wire.CREATION_TIME, "token"),
    wire.SegmentAttribute(15, 1_700_000_000_000),
    wire.UpdateSegmentAttribute(17, SEGMENT, WRITER, 4096, wire.NO_VALUE, "token"),
    wire.TruncateSegment(18, SEGMENT, 4096, "token"),
    wire.SegmentTruncated(18, SEGMENT),
    wire.WrongHost(11, SEGMENT, "store-2:6000", "trace"),
    wire.SegmentIsSealed(11, SEGMENT, "trace", 77),
    wire.SegmentAlreadyExists(11, SEGMENT, "trace"),
    wire.NoSuchSegment(11, SEGMENT, "trace", 77),
    wire.SegmentIsTruncated(11, SEGMENT, 4096, "trace", 77),
    wire.OperationUnsupported(11, "fly", "trace"),
    wire.TableSegmentNotEmpty(11, SEGMENT, "trace"),
    wire.TableKeyDoesNotExist(11, SEGMENT, "trace"),
    wire.TableKeyBadVersion(11, SEGMENT, "trace"),
    wire.AuthTokenCheckFailed(11, "trace", 1),
    wire.ErrorMessage(11, SEGMENT, "why", 0),
    wire.UpdateTableEntries(12, SEGMENT, "token", ENTRIES, -1),
    wire.TableEntriesUpdated(12, (1, 2)),
    wire.RemoveTableKeys(13, SEGMENT, "token", KEYS, -1),
    wire.TableKeysRemoved(13, SEGMENT),
    wire.ReadTable(14, SEGMENT, "token", KEYS),
    wire.TableRead(14, SEGMENT, ENTRIES),
    wire.ReadTableKeys(16, SEGMENT, "token", 100, b"next", b"", b"a", b"z"),
    wire.TableKeysRead(16, SEGMENT, KEYS, b"next"),
]


@pytest.fixture(params=COMMANDS, ids=lambda command: type(command).__name__)
def command(request):
    return request.param


@pytest.fixture(scope="session")
def commands():
    return COMMANDS

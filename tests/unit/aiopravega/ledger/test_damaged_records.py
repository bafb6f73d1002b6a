"""A stored record that was changed in any way reads as what it says, or is refused by the ledger's error."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiopravega import SegmentId, StreamCut, StreamCutRange, StreamName
from aiopravega.errors import PravegaError
from aiopravega.ledger import CommitRecord, CommitState, CutRecord, Interval, PartitionCommit
from aiopravega.ledger.commits import leases, pending
from aiopravega.ledger.stored_json import with_checksum, without_checksum
from aiopravega.tables import TableEntry

STREAM = StreamName("examples", "delays")
COMMIT = CommitRecord(
    state=CommitState.DONE,
    sink=STREAM,
    incarnation=1,
    write_id="daily",
    attempt=UUID(int=7),
    partitions=tuple(
        PartitionCommit(partition=number, txn_id=UUID(int=number), events=2, bytes=30, checksum="00c0ffee", hashes=9)
        for number in (0, 1)
    ),
    prepared_at=datetime(2026, 1, 2, tzinfo=UTC),
    done_at=datetime(2026, 1, 3, tzinfo=UTC),
    by="ann@host",
    retain=60.0,
    witnessed_at=datetime(2026, 1, 2, tzinfo=UTC),
).to_json()
OLDER = {
    name: inner
    for name, inner in json.loads(without_checksum(COMMIT)).items()
    if name not in {"start", "end", "earlier"}
}
OLDER["version"] = 2
OLDEST = {**OLDER, "version": 1}
OLDEST["partitions"] = [{name: each[name] for name in each if name != "hashes"} for each in OLDEST["partitions"]]
CUT = CutRecord.new(
    Interval("job", STREAM, "monday"),
    StreamCutRange(*(StreamCut(STREAM, {SegmentId(STREAM, 0, 0): offset}) for offset in (0, 10))),
    by="ann@host",
    number=1,
).to_json()
NOTE = leases._spelled(UUID(int=5), 600.0, 1_800_000_000.0)


def _read_note(value: bytes) -> Any:
    return leases._stored_note(TableEntry(b"", value, 0))


PENDING = with_checksum(
    pending._Value(sink=STREAM, write_id="daily", record="0" * 64, noted_at=1_800_000_000.0).model_dump_json()
)


def _read_pending(value: bytes) -> Any:
    return pending._read(TableEntry(b"", value, 0))


Read = Callable[[bytes], Any]
NOW = {
    "commit record": (COMMIT, CommitRecord.from_json),
    "cut record": (CUT, CutRecord.from_json),
    "note": (NOTE, _read_note),
    "pending write": (PENDING, _read_pending),
}
BEFORE = {
    "commit record of version 2": (json.dumps(OLDER).encode(), CommitRecord.from_json),
    "commit record of version 1": (json.dumps(OLDEST).encode(), CommitRecord.from_json),
}
kinds = pytest.mark.parametrize(("value", "read"), [*NOW.values(), *BEFORE.values()], ids=[*NOW, *BEFORE])
with_checksums = pytest.mark.parametrize(("value", "read"), NOW.values(), ids=NOW)
without_checksums = pytest.mark.parametrize(("value", "read"), BEFORE.values(), ids=BEFORE)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just(10**400),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=3,
)


def _refused_or(read: Read, value: bytes) -> Any:
    """What was read, as JSON; or None: it was refused by an error of our tree."""
    try:
        return json.loads(read(value).model_dump_json())
    except PravegaError:
        return None


def _document(value: bytes) -> Any:
    """What a record says, without its checksum."""
    found = json.loads(value)
    found.pop("crc32", None)
    return found


def _value(document: Any, like: bytes) -> bytes:
    """A record with a right checksum, if the other one has one."""
    text = json.dumps(document)
    return with_checksum(text) if "crc32" in json.loads(like) else text.encode()


def _paths(value: Any) -> list[list[Any]]:
    """All addresses of values in a JSON document."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path for key, inner in items for path in ([key], *([key, *rest] for rest in _paths(inner)))]


def _at(document: Any, path: list[Any]) -> Any:
    for key in path:
        document = document[key]
    return document


def _holds(read: Any, stored: Any) -> bool:
    """Whether what was read is what stands there: nothing left out, nothing of another type; a time in any spelling."""
    if isinstance(stored, dict):
        return isinstance(read, dict) and all(
            name == "version" or (name in read and _holds(read[name], inner)) for name, inner in stored.items()
        )
    if isinstance(stored, list):
        return isinstance(read, list) and len(read) == len(stored) and all(map(_holds, read, stored))
    if isinstance(stored, bool) or isinstance(read, bool):
        return stored is read
    return bool(read == stored) or (
        isinstance(read, str) and isinstance(stored, str) and _same_time_or_id(read, stored)
    )


def _same_time_or_id(read: str, stored: str) -> bool:
    for kind in (UUID, datetime.fromisoformat):
        try:
            return bool(kind(read) == kind(stored))
        except ValueError:
            continue
    return False


def _changed(value: bytes, data: st.DataObject) -> bytes:
    changed = bytearray(value)
    for _ in range(data.draw(st.integers(1, 3))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    return bytes(changed)


@with_checksums
@given(data=st.data())
def test_changed_bytes_are_refused(value: bytes, read: Read, data: st.DataObject):
    changed = _changed(value, data)

    assert changed == value or _refused_or(read, changed) is None


@with_checksums
def test_each_changed_byte_is_refused(value: bytes, read: Read):
    for at in range(len(value)):
        for bit in range(8):
            with pytest.raises(PravegaError):
                read(value[:at] + bytes([value[at] ^ 1 << bit]) + value[at + 1 :])


@with_checksums
def test_a_record_without_its_checksum_is_refused(value: bytes, read: Read):
    with pytest.raises(PravegaError, match="checksum is wrong or missing"):
        read(without_checksum(value))


@without_checksums
@given(data=st.data())
def test_changed_bytes_of_an_older_version_are_read_or_refused(value: bytes, read: Read, data: st.DataObject):
    changed = _changed(value, data)

    found = _refused_or(read, changed)

    assert found is None or _holds(found, json.loads(changed))


@kinds
@given(data=st.data())
def test_a_record_that_is_cut_off_is_refused(value: bytes, read: Read, data: st.DataObject):
    with pytest.raises(PravegaError):
        read(value[: data.draw(st.integers(0, len(value) - 1))])


@kinds
@given(data=st.data())
def test_a_value_of_another_kind_is_read_as_it_stands_or_refused(value: bytes, read: Read, data: st.DataObject):
    document = _document(value)
    *path, last = data.draw(st.sampled_from(_paths(document)))
    _at(document, path)[last] = data.draw(ANYTHING)

    found = _refused_or(read, _value(document, value))

    assert found is None or _holds(found, document)


@pytest.mark.parametrize("kind", ["commit record", "cut record", *BEFORE])
@pytest.mark.parametrize("time", ["0", "1767312000", "-1.5", "20260102", "2026-01-02", "2026-01-02T00:00:00", 0, 1.5])
def test_a_time_that_is_no_moment_is_refused(kind: str, time: object):
    value, read = (NOW | BEFORE)[kind]
    document = _document(value)
    times = [name for name in document if name in {"prepared_at", "done_at", "witnessed_at", "recorded_at"}]

    assert times
    for name in times:
        with pytest.raises(PravegaError):
            read(_value({**document, name: time}, value))


@kinds
@given(data=st.data())
def test_an_unknown_name_is_refused(value: bytes, read: Read, data: st.DataObject):
    document = _document(value)
    objects = [[], *(path for path in _paths(document) if isinstance(_at(document, path), dict))]
    found = _at(document, data.draw(st.sampled_from(objects)))
    renamed = data.draw(st.sampled_from([None, *sorted(found)]))
    found["unknown"] = data.draw(ANYTHING) if renamed is None else found.pop(renamed)

    with pytest.raises(PravegaError):
        read(_value(document, value))


@kinds
@given(data=st.data())
def test_a_name_that_stands_twice_is_refused(value: bytes, read: Read, data: st.DataObject):
    document = _document(value)
    twice = f"{{{json.dumps(data.draw(st.sampled_from(sorted(document))))}: null, {json.dumps(document)[1:]}"

    with pytest.raises(PravegaError):
        read(with_checksum(twice) if "crc32" in json.loads(value) else twice.encode())


@kinds
@pytest.mark.parametrize("version", [0, -1, 98, 99, True, 1.0, 2.0, 3.0, "1", "2", "3", "4", None, [], {}])
def test_an_unknown_version_is_refused(value: bytes, read: Read, version: object):
    with pytest.raises(PravegaError):
        read(_value({**_document(value), "version": version}, value))


GARBAGE = [b"[" * 100_000, b'{"version":' * 50_000, b"null", b"NaN", '{"version": 2}'.encode("utf-16")]


@kinds
@pytest.mark.parametrize("garbage", GARBAGE, ids=["deep lists", "deep objects", "null", "no number", "UTF-16"])
def test_garbage_is_refused(value: bytes, read: Read, garbage: bytes):
    assert read(value)
    with pytest.raises(PravegaError):
        read(garbage)


def test_a_record_that_is_kept_beyond_all_time_never_expires():
    record = CommitRecord.from_json(_value({**_document(COMMIT), "retain": 1e300}, COMMIT))

    assert record.expires_at is None

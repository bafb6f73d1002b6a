"""Records survive the table, and a reader stops at what it does not understand."""

import json
from bisect import bisect_left
from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiopravega.cuts import UNBOUNDED, StreamCut, StreamCutRange
from aiopravega.errors import LedgerError
from aiopravega.ledger import CommitRecord, CommitState, Fingerprint, PartitionCommit, WriteErrors
from aiopravega.ledger.commits.keys import KEY_LENGTH, record_key
from aiopravega.ledger.commits.record import LARGEST_RECORD, LONGEST_CUT
from aiopravega.ledger.stored_json import with_checksum
from aiopravega.names import SegmentId, StreamName

SINK = StreamName("examples", "delays")
PARTITIONS = st.builds(
    PartitionCommit,
    partition=st.integers(0, 10**6),
    txn_id=st.uuids(),
    events=st.integers(0, 2**63),
    bytes=st.integers(0, 2**63),
    checksum=st.text(max_size=8),
    hashes=st.none() | st.integers(0, 2**64 - 1),
)


def record(partitions: tuple[PartitionCommit, ...] = (), write_id: str = "daily") -> CommitRecord:
    return CommitRecord(
        state=CommitState.PREPARED,
        sink=SINK,
        incarnation=0,
        write_id=write_id,
        attempt=UUID(int=7),
        partitions=partitions,
        prepared_at=datetime(2026, 1, 2, tzinfo=UTC),
    )


@given(st.lists(PARTITIONS, max_size=5, unique_by=lambda part: part.partition).map(tuple), st.text(min_size=1))
def test_a_record_comes_back_as_it_was(partitions: tuple[PartitionCommit, ...], write_id: str) -> None:
    prepared = record(partitions, write_id)
    done = prepared.done(datetime.now(UTC))

    assert CommitRecord.from_json(prepared.to_json()) == prepared
    assert CommitRecord.from_json(done.to_json()) == done
    assert done.state is CommitState.DONE


def test_a_record_is_json_that_a_person_can_read() -> None:
    part = PartitionCommit(partition=3, txn_id=UUID(int=5), events=2, bytes=30, checksum="00c0ffee", hashes=9)

    found = json.loads(record((part,)).to_json())

    assert found["version"] == 5
    assert found["state"] == "prepared"
    assert found["sink"] == {"scope": "examples", "stream": "delays"}
    assert found["partitions"] == [
        {
            "partition": 3,
            "txn_id": "00000000-0000-0000-0000-000000000005",
            "events": 2,
            "bytes": 30,
            "checksum": "00c0ffee",
            "hashes": 9,
        }
    ]


def test_a_record_of_version_1_is_read_as_one_without_hashes() -> None:
    old = """{"version": 1, "state": "done", "sink": {"scope": "examples", "stream": "delays"}, "incarnation": 0,
        "write_id": "daily", "attempt": "00000000-0000-0000-0000-000000000007", "partitions": [{"partition": 0,
        "txn_id": "00000000-0000-0000-0000-000000000005", "events": 2, "bytes": 30, "checksum": "00c0ffee"}],
        "prepared_at": "2026-01-02T00:00:00Z", "done_at": "2026-01-02T00:00:01Z"}"""

    found = CommitRecord.from_json(old.encode())

    assert (found.state, found.total_events, found.fingerprint) == (CommitState.DONE, 2, None)
    assert CommitRecord.from_json(found.to_json()) == found  # it is stored in the version of now


def test_a_record_of_version_2_is_read_as_one_without_cuts() -> None:
    old = """{"version": 2, "state": "done", "sink": {"scope": "examples", "stream": "delays"}, "incarnation": 0,
        "write_id": "daily", "attempt": "00000000-0000-0000-0000-000000000007", "partitions": [{"partition": 0,
        "txn_id": "00000000-0000-0000-0000-000000000005", "events": 2, "bytes": 30, "checksum": "00c0ffee",
        "hashes": 9}], "prepared_at": "2026-01-02T00:00:00Z", "done_at": "2026-01-02T00:00:01Z", "by": "ann@host",
        "resolved": false, "retain": 60.0, "witnessed_at": "2026-01-02T00:00:00Z"}"""

    found = CommitRecord.from_json(old.encode())

    assert (found.fingerprint, found.cuts, found.generation) == (Fingerprint(2, 30, 9), None, 1)
    assert CommitRecord.from_json(found.to_json()) == found


def test_a_record_of_version_3_is_read_as_one_without_a_claimant() -> None:
    part = """{"partition":0,"txn_id":"00000000-0000-0000-0000-000000000005","events":2,"bytes":30,
        "checksum":"00c0ffee","""
    same = f""""version":3,"state":"done","sink":{{"scope":"examples","stream":"delays"}},"incarnation":0,
        "write_id":"daily","attempt":"00000000-0000-0000-0000-000000000007","partitions":[{part}"hashes":9}}],
        "prepared_at":"2026-01-02T01:00:00+01:00","done_at":"2026-01-02T00:00:01Z","by":"ann@host","resolved":false,
        "retain":60.0,"witnessed_at":"2026-01-02T00:00:00Z","start":null,"end":null"""
    old = f"""{{{same},"earlier":[{{{same},"earlier":[]}}]}}"""

    found = CommitRecord.from_json(with_checksum(old))

    assert (found.claimant, found.by, found.generation, found.fingerprint) == (
        None,
        "ann@host",
        2,
        Fingerprint(2, 30, 9),
    )
    assert found.prepared_at.isoformat() == "2026-01-02T00:00:00+00:00"
    assert json.loads(found.to_json())["version"] == json.loads(found.to_json())["earlier"][0]["version"] == 5
    with pytest.raises(LedgerError, match="damaged"):
        CommitRecord.from_json(old.encode())


def test_a_record_of_version_4_is_read_as_one_without_errors() -> None:
    old = json.loads(record().to_json()) | {"version": 4, "claimant": "a run"}
    assert "errors" not in old
    del old["crc32"]

    found = CommitRecord.from_json(with_checksum(json.dumps(old)))

    assert (found.errors, found.claimant, json.loads(found.to_json())["version"]) == (None, "a run", 5)


@pytest.mark.parametrize(("rows", "name"), [(0, "monday errors 1"), (3, None)])
def test_errors_have_a_name_if_there_are_any(rows: int, name: str | None) -> None:
    given = {"sink": "stream:examples/dead", "consumer": "job", "interval": "monday"}
    noted = WriteErrors(**given, rows=bool(name) * 3, name=name)
    assert CommitRecord.from_json(record().model_copy(update={"errors": noted}).to_json()).errors == noted
    with pytest.raises(ValueError, match="errors under the name"):
        WriteErrors(**given, rows=rows, name=name)


def test_the_fingerprint_of_a_write_is_that_of_all_its_partitions() -> None:
    parts = [
        PartitionCommit(partition=number, txn_id=uuid4(), events=1, bytes=9, checksum="", hashes=2**63)
        for number in range(3)
    ]

    assert record(tuple(parts)).fingerprint == Fingerprint(3, 27, 2**63)
    assert record().fingerprint == Fingerprint()


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        (b"", "not a record"),
        (b"[]", "not a record"),
        (b"\xff\xfe", "not a record"),
        (b'{"state": "done"}', "not a record"),
        (b'{"version": 6}', "version 6, but this release reads up to 5"),
        (b'{"version": 1, "state": "half"}', "damaged"),
    ],
)
def test_a_record_of_another_version_is_refused(value: bytes, complaint: str) -> None:
    with pytest.raises(LedgerError, match=complaint):
        CommitRecord.from_json(value)


@given(st.binary(max_size=60))
def test_garbage_is_refused_with_the_ledgers_error(value: bytes) -> None:
    with pytest.raises(LedgerError):
        CommitRecord.from_json(value)


def test_2000_partitions_fit_and_20000_are_refused_before_a_decision() -> None:
    parts = tuple(
        PartitionCommit(partition=number, txn_id=uuid4(), events=10**6, bytes=10**9, checksum="00c0ffee")
        for number in range(20_000)
    )
    assert CommitRecord.from_json(record(parts[:2000]).to_json()).partitions == parts[:2000]

    with pytest.raises(LedgerError, match=r"20,000 partitions.*coalesce"):
        record(parts).to_json()


def test_keys_have_one_length_and_differ_between_writes() -> None:
    keys = {
        record_key(SINK, "daily"),
        record_key(SINK, "daily/2"),
        record_key(StreamName("examples", "orders"), "daily"),
        record_key(SINK, "x" * 10_000),
    }

    assert len(keys) == 4
    assert {len(key) for key in keys} == {KEY_LENGTH}


def done(day: int, **changes: object) -> CommitRecord:
    return record().done(datetime(2026, 1, day, tzinfo=UTC)).model_copy(update={"retain": 86_400.0} | changes)


def test_a_record_has_all_generations_of_its_write() -> None:
    third = done(3, earlier=(done(1), done(2)))

    assert CommitRecord.from_json(third.to_json()) == third
    assert [found.generation for found in third.generations] == [1, 2, 3]
    assert [found.done_at.day for found in third.generations if found.done_at] == [1, 2, 3]
    assert (third.generations[0].name, third.name) == (
        "write 'daily' to examples/delays",
        "generation 3 of write 'daily' to examples/delays",
    )


def test_a_record_is_kept_as_long_as_any_of_its_generations_asks() -> None:
    assert done(2, earlier=(done(1),)).expires_at == datetime(2026, 1, 3, tzinfo=UTC)
    assert done(2, earlier=(done(1, retain=86_400.0 * 10),)).expires_at == datetime(2026, 1, 11, tzinfo=UTC)
    assert done(2, earlier=(done(1, retain=None),)).expires_at is None


@pytest.mark.parametrize(
    "changes",
    [{"write_id": "weekly"}, {"incarnation": 7}, {"state": CommitState.PREPARED}, {"earlier": (done(1),)}],
    ids=str,
)
def test_what_is_no_earlier_generation_of_the_write_is_refused(changes: dict[str, object]) -> None:
    value = with_checksum(done(2, earlier=(done(1, **changes),)).model_dump_json())

    with pytest.raises(LedgerError, match="(?s)damaged ledger record.*not an earlier generation"):
        CommitRecord.from_json(value)


def test_cuts_are_known_as_far_as_they_were_noted() -> None:
    text = StreamCut(SINK, {SegmentId(SINK, 0, 0): 7}).to_text()

    assert record().cuts is None
    assert done(1, start=text).cuts == StreamCutRange(StreamCut.from_text(text), UNBOUNDED)
    assert done(1, end=text).cuts == StreamCutRange(UNBOUNDED, StreamCut.from_text(text))


def test_whatever_can_be_decided_can_be_marked_done() -> None:
    part = PartitionCommit(partition=0, txn_id=uuid4(), events=1, bytes=9, checksum="00c0ffee")

    def is_refused(partitions: int) -> bool:
        try:
            record((part,) * partitions).to_json()
        except LedgerError:
            return True
        return False

    first_refused = bisect_left(range(20_000), True, key=is_refused)

    largest = record((part,) * (first_refused - 1))
    assert len(largest.done(datetime.now(UTC), "x" * LONGEST_CUT).to_json()) <= LARGEST_RECORD

"""Rows under a used write id are compared with the first ones, and what cannot be compared is said."""

from datetime import UTC, datetime
from uuid import UUID

import pytest

from aiopravega import StreamName
from aiopravega.errors import WriteIdReusedError
from aiopravega.ledger import (
    CommitRecord,
    CommitState,
    Fingerprint,
    PartitionCommit,
    WriteErrors,
    check_same,
    check_same_errors,
    refuse_used,
)


def part(number: int, hashes: int | None) -> PartitionCommit:
    return PartitionCommit(
        partition=number, txn_id=UUID(int=number), events=10, bytes=180, checksum="c0ffee", hashes=hashes
    )


def record(*hashes: int | None, resolved: bool = False) -> CommitRecord:
    return CommitRecord(
        state=CommitState.DONE,
        sink=StreamName("examples", "delays"),
        incarnation=0,
        write_id="daily",
        attempt=UUID(int=7),
        partitions=tuple(part(number, value) for number, value in enumerate(hashes)),
        prepared_at=datetime(2026, 1, 2, 3, 4, tzinfo=UTC),
        by="ann@host",
        resolved=resolved,
    )


def test_the_same_rows_are_the_same_write_whatever_their_partitions():
    assert check_same(record(2**64 - 1, 3), Fingerprint(20, 360, 2)) == "with the same rows"


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (
            Fingerprint(20, 360, 6),
            "this run has 20 events in 360 bytes, which differ in their routing keys or contents.",
        ),
        (Fingerprint(20, 361, 5), "this run has 20 events in 361 bytes."),
        (Fingerprint(21, 360, 5), "this run has 21 events in 360 bytes."),
        (Fingerprint(), "this run has 0 events in 0 bytes."),
    ],
)
def test_other_rows_are_an_error_that_names_both(rows, said):
    with pytest.raises(WriteIdReusedError) as caught:
        check_same(record(2, 3), rows)

    assert str(caught.value).startswith(
        "write 'daily' to examples/delays is done already, with other rows: 20 events in 360 bytes, written at "
        f"2026-01-02T03:04:00+00:00 by ann@host (attempt {UUID(int=7)}); {said} Nothing was written now."
    )


def test_a_first_write_of_no_rows_is_no_write_of_rows():
    assert check_same(record(), Fingerprint()) == "with the same rows"
    with pytest.raises(WriteIdReusedError, match="other rows: 0 events in 0 bytes"):
        check_same(record(), Fingerprint(1, 9, 5))


def test_a_record_without_hashes_is_compared_by_its_numbers():
    assert "older release" in check_same(record(2, None), Fingerprint(20, 360, 99))
    with pytest.raises(WriteIdReusedError):
        check_same(record(2, None), Fingerprint(20, 361, 99))


def test_a_write_resolved_by_a_person_is_not_compared():
    assert "a person has decided" in check_same(record(2, resolved=True), Fingerprint(99, 999, 9))


def test_a_used_id_can_be_refused_whatever_the_rows_are():
    assert "on_written=fail" in str(refuse_used(record(2)))


def test_the_next_generation_is_named_as_a_way_out():
    second = record(2).model_copy(update={"earlier": (record(3),)})

    with pytest.raises(WriteIdReusedError, match="rebuild=2"):
        check_same(record(2), Fingerprint(1, 9, 5))
    with pytest.raises(WriteIdReusedError, match=r"^generation 2 of write 'daily' .* rebuild=3"):
        check_same(second, Fingerprint(1, 9, 5))


def test_other_errors_are_an_error_that_names_both_numbers():
    first = WriteErrors(sink="stream:a/dead", consumer="job", interval="monday", rows=2, name="two")
    written = record(2).model_copy(update={"errors": first})
    check_same_errors(written, first)
    check_same_errors(record(2), first.model_copy(update={"rows": 0, "name": None}))
    for errors in (None, first.model_copy(update={"name": "others"})):
        with pytest.raises(WriteIdReusedError, match=r"with 2 errors, .*; this run has [02], of other events"):
            check_same_errors(written, errors)
    check_same_errors(written.model_copy(update={"resolved": True}), None)

"""What the table of a ledger has beside records: how its keys differ, and when it is too old to matter."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from aiopravega import StreamName
from aiopravega.errors import LedgerError
from aiopravega.ledger.commits.keys import (
    IDENTITY_KEY,
    KEY_LENGTH,
    NOTE_PREFIX,
    NOTES_FROM,
    PENDING_FROM,
    PENDING_PREFIX,
    is_dead,
    is_record,
    record_key,
)
from aiopravega.ledger.commits.leases import is_dead_note
from aiopravega.ledger.commits.pending import is_dead_pending
from aiopravega.ledger.stored_json import with_checksum
from aiopravega.tables import TableEntry

NOW = datetime(2026, 11, 22, tzinfo=UTC)


def test_records_are_told_from_everything_else_by_their_keys():
    assert is_record(record_key(StreamName("examples", "orders"), "daily"))
    others = [IDENTITY_KEY, NOTES_FROM, PENDING_FROM]
    others += [(prefix + uuid4().bytes * 2)[:KEY_LENGTH] for prefix in (NOTE_PREFIX, PENDING_PREFIX)]
    assert [is_record(key) for key in others] == [False] * len(others)
    assert {len(key) for key in others} == {KEY_LENGTH}


def test_notes_and_pending_writes_lie_apart_and_pending_ones_are_last():
    """A read of the notes from their first key on comes to the pending writes next, and to no record."""
    assert IDENTITY_KEY < NOTES_FROM < PENDING_FROM
    assert not NOTE_PREFIX.startswith(PENDING_PREFIX)
    assert not PENDING_PREFIX.startswith(NOTE_PREFIX)


@pytest.mark.parametrize(("age", "dead"), [(timedelta(days=1), False), (timedelta(days=2, seconds=1), True)])
def test_an_entry_is_dead_when_no_transaction_can_live_any_more(age, dead):
    assert is_dead((NOW - age).timestamp(), NOW) is dead


def test_a_pending_write_whose_record_has_no_key_is_refused():
    text = '{"version":2,"sink":{"scope":"a","stream":"b"},"write_id":"w","record":"%s","noted_at":1.0}'
    right, wrong = (with_checksum(text % (pair * KEY_LENGTH)) for pair in ("0f", "xx"))

    assert is_dead_pending(TableEntry(PENDING_FROM, right, 1), NOW)
    with pytest.raises(LedgerError, match="this release reads"):
        is_dead_pending(TableEntry(PENDING_FROM, wrong, 1), NOW)


@pytest.mark.parametrize("value", [b"", b"\xff", b"[]", b'{"version": 2}', b'{"version": 1}'])
def test_an_entry_that_is_not_understood_is_refused(value):
    entry = TableEntry(PENDING_FROM, value, 1)
    for is_old in (is_dead_pending, is_dead_note):
        with pytest.raises(LedgerError, match="this release reads"):
            is_old(entry, NOW)

"""A write is done once, and the commit ledger says whether it is."""

from datetime import UTC, datetime
from uuid import uuid4

import pytest

from aiopravega import StreamName
from aiopravega.errors import ConfigurationError, LedgerError
from aiopravega.ledger import DEFAULT_TABLE, CommitRecord, CommitState, ledger_name
from pravega_jobs.writes import parse_generation, write_unless_done

SINK = StreamName("examples", "orders")
RECORD = CommitRecord(
    sink=SINK,
    write_id="monday",
    attempt=uuid4(),
    incarnation=0,
    state=CommitState.DONE,
    partitions=(),
    prepared_at=datetime(2026, 1, 1, tzinfo=UTC),
    claimant="run 1/step load",
)


class Ledger:
    """A ledger of one write."""

    def __init__(self, record: CommitRecord | None = None, *, forgetful: bool = False) -> None:
        self.record = record
        self.forgetful = forgetful
        self.writes = 0

    def find(self) -> CommitRecord | None:
        return self.record

    def write(self) -> None:
        self.writes += 1
        self.record = None if self.forgetful else RECORD


def test_a_try_accepts_what_an_earlier_try_of_the_same_work_has_done():
    ledger = Ledger(RECORD)

    done = write_unless_done(SINK, "monday", ledger.find, ledger.write, claimant="run 1/step load")

    assert (done.record, done.by_this_try, ledger.writes) == (RECORD, False, 0)


@pytest.mark.parametrize("made_by", ["run 1/step load", None])
@pytest.mark.parametrize("claimant", ["run 2/step load", None])
def test_what_other_work_has_done_is_compared(made_by, claimant):
    ledger = Ledger(RECORD.model_copy(update={"claimant": made_by}))

    done = write_unless_done(SINK, "monday", ledger.find, ledger.write, claimant=claimant)

    assert (done.by_this_try, ledger.writes) == (False, 1)


@pytest.mark.parametrize("claimant", [None, "run 1/step load"])
def test_a_write_that_is_not_done_is_done_once(claimant):
    ledger = Ledger()

    done = write_unless_done(SINK, "monday", ledger.find, ledger.write, claimant=claimant)

    assert (done.record, done.by_this_try, ledger.writes) == (RECORD, True, 1)
    assert done.seconds >= 0


def test_a_write_without_a_record_is_an_error():
    ledger = Ledger(forgetful=True)

    with pytest.raises(LedgerError, match="written to examples/orders, but .* no record of write 'monday'"):
        write_unless_done(SINK, "monday", ledger.find, ledger.write, claimant=None)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (None, ("examples", DEFAULT_TABLE)),
        ("", ("examples", DEFAULT_TABLE)),
        ("other/my-table", ("other", "my-table")),
    ],
)
def test_a_ledger_is_a_table_in_the_streams_scope_unless_it_is_named(text, name):
    assert ledger_name(text, "examples") == name


def test_a_generation_is_a_number_or_its_text():
    assert [parse_generation(value) for value in (1, "2", " 3 ")] == [1, 2, 3]


@pytest.mark.parametrize("value", [0, -1, "0", "", "two", "2.0", 1.5, True, "None"])
def test_what_is_no_generation_is_refused(value):
    with pytest.raises(ConfigurationError, match="rebuild is .*, but must be a whole number of at least 1"):
        parse_generation(value)


@pytest.mark.parametrize("text", ["table", "scope/", "/table", "a/b/c"])
def test_a_text_that_names_no_ledger_is_refused(text):
    with pytest.raises(ConfigurationError):
        ledger_name(text, "examples")

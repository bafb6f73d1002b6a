"""The picture of the page: where the bars of intervals begin and end."""

from datetime import UTC, datetime, timedelta

from aiopravega import SegmentId, StreamCut, StreamCutRange, StreamName
from aiopravega.ledger import CutRecord, Interval, IntervalState
from airflow_pravega.page.consumers import picture_of

STREAM = StreamName("scope", "stream")
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def record(state: IntervalState, taken: int, changed: int | None) -> CutRecord:
    """An interval that was taken and changed so many minutes after noon."""
    cut = StreamCut(STREAM, {SegmentId(STREAM, 0, 0): 0})
    made = CutRecord.new(Interval("ada", STREAM, f"at {taken}"), StreamCutRange(cut, cut), by="ada", number=taken)
    times = {
        "recorded_at": NOON + timedelta(minutes=taken),
        "changed_at": None if changed is None else NOON + timedelta(minutes=changed),
    }
    return made.model_copy(update={"state": state, **times})


def test_a_bar_goes_from_taken_to_done_and_what_waits_goes_to_the_end():
    found = picture_of(
        [record(IntervalState.DONE, 0, 30), record(IntervalState.FAILED, 30, 40), record(IntervalState.OPEN, 60, None)],
        NOON + timedelta(minutes=120),
    )

    assert [(bar.x, bar.width, bar.state) for bar in found.bars] == [
        (0.0, 250.0, "done"),
        (250.0, 750.0, "failed"),
        (500.0, 500.0, "open"),
    ]
    assert (found.first, found.last) == (NOON, NOON + timedelta(minutes=120))


def test_what_was_given_back_at_once_is_still_seen():
    found = picture_of([record(IntervalState.GIVEN_BACK, 5, 5)])

    [bar] = found.bars
    assert (bar.width, bar.state) == (3.0, "given-back")

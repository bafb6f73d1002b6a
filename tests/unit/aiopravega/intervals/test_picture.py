"""Pictures of intervals: characters that say what was processed when, and a PNG file."""

from datetime import UTC, datetime, timedelta

import pytest

from aiopravega import SegmentId, StreamCut, StreamCutRange, StreamName
from aiopravega.errors import ConfigurationError
from aiopravega.intervals.reports.picture import draw_png, draw_text
from aiopravega.ledger import CutRecord, Interval, IntervalState

STREAM = StreamName("scope", "stream")
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
PNG = b"\x89PNG\r\n\x1a\n"


def record(number: int, taken: int, done: int | None) -> CutRecord:
    """An interval that was taken and done so many minutes after noon."""
    cuts = [StreamCut(STREAM, {SegmentId(STREAM, 0, 0): offset}) for offset in (number, number + 1)]
    made = CutRecord.new(Interval("ada", STREAM, f"day {number}"), StreamCutRange(*cuts), by="ada", number=number)
    state = IntervalState.OPEN if done is None else IntervalState.DONE
    times = {
        "recorded_at": NOON + timedelta(minutes=taken),
        "changed_at": None if done is None else NOON + timedelta(minutes=done),
    }
    return made.model_copy(update={"state": state, **times})


def test_a_line_shows_from_when_to_when_an_interval_was_at_work():
    picture = draw_text([record(0, 0, 30), record(1, 30, 60), record(2, 30, None)], NOON + timedelta(minutes=60))

    header, first, second, third = picture.splitlines()
    assert "2026-01-01 12:00:00 to 2026-01-01 13:00:00" in header
    assert first.split("  ")[1] == "█" * 31 + "·" * 29
    assert second.split("  ")[1] == "·" * 29 + "█" * 31
    assert third.split("  ")[1] == "·" * 29 + "░" * 31


def test_intervals_of_time_are_named_by_their_times():
    def of(hours: int) -> str:
        timed = record(0, 0, 30).model_copy(
            update={"since": NOON.replace(hour=0), "until": NOON + timedelta(hours=hours)}
        )
        return draw_text([timed]).splitlines()[1].split("  ")[0]

    assert of(36) == "2026-01-01 to 2026-01-03"
    assert of(1) == "2026-01-01 00:00:00 to 2026-01-01 13:00:00"


def test_many_intervals_share_lines():
    picture = draw_text([record(number, number, number + 1) for number in range(1000)])

    lines = picture.splitlines()
    assert len(lines) == 41
    assert lines[1].startswith("day 0 and 24 more")
    assert lines[1].endswith("25 of 25 done")


def test_no_intervals_are_no_picture(tmp_path):
    assert draw_text([]) == "no intervals\n"
    with pytest.raises(ConfigurationError, match="no intervals"):
        draw_png([], tmp_path / "picture.png")


def test_a_file_has_the_picture_of_thousands(tmp_path):
    path = tmp_path / "picture.png"
    draw_png([record(n, n, None if n % 10 == 0 else n + 100) for n in range(3000)], path)
    assert path.read_bytes().startswith(PNG)


def test_an_interval_that_took_no_time_is_drawn(tmp_path):
    draw_png([record(0, 0, 0)], tmp_path / "picture.png")
    assert "█" in draw_text([record(0, 0, 0)])

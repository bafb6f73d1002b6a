"""What a table does with the rows of an interval, by what it holds; and where it differs from the ledger."""

import base64
import gzip

import pytest
from tests.unit.pravega_jobs.noted import Noted

from aiopravega import SegmentId, StreamCut, StreamCutRange, StreamName
from aiopravega.errors import ConfigurationError, LandingError, LedgerError
from aiopravega.ledger import CutRecord, Interval, IntervalState
from pravega_jobs.landing import (
    Action,
    DeltaFolder,
    Holding,
    Iceberg,
    Landing,
    ParquetFolder,
    Postgres,
    compare,
    decide,
    table_of,
)
from pravega_jobs.landing.cut_order import shares_events
from pravega_jobs.landing.growth import check_columns
from pravega_jobs.landing.land import landing_of

STREAM = StreamName("shop", "orders")


def cuts(start, end, stream=STREAM):
    first, last = (StreamCut(stream, {SegmentId(stream, 0, 0): offset}) for offset in (start, end))
    return StreamCutRange(first, last)


def landing(name="monday", start=0, end=10, generation=1, stream=STREAM):
    return Landing(Interval("consumer", stream, name), cuts(start, end, stream), generation)


HELD = Holding.of(landing(generation=2), 5)


@pytest.mark.parametrize(
    ("held", "given", "expected"),
    [
        (None, landing(), Action.APPEND),
        (None, landing(generation=3), Action.APPEND),
        (HELD, landing(generation=2), Action.NOTHING),
        (HELD, landing(generation=3), Action.REPLACE),
        (HELD, landing(end=11, generation=3), Action.REPLACE),
    ],
)
def test_the_same_range_adds_nothing_and_a_newer_generation_replaces(held, given, expected):
    noted = Noted([] if held is None else [held])
    assert decide(noted, given) == (expected, held if expected is Action.NOTHING else None)


def text_of(stream, segments, offset):
    """As another client writes it, which has an order of its own."""
    return base64.b64encode(gzip.compress(f"0:{stream}:{segments}:0,0:{offset},{offset}".encode())).decode()


def test_equal_cuts_whose_texts_differ_are_the_same_range():
    one, two = (
        StreamCutRange(*(StreamCut.from_text(text_of(STREAM, order, offset)) for offset in (0, 9)))
        for order in ("0,1", "1,0")
    )
    assert one.end.to_text() != two.end.to_text()
    first, second = (Landing(Interval("consumer", STREAM, "monday"), each) for each in (one, two))
    assert decide(Noted([Holding.of(first, 5)]), second)[0] is Action.NOTHING
    done = CutRecord.new(first.interval, two, by="test", number=1).changed(IntervalState.DONE, "test", "a reason")
    assert compare([done], [Holding.of(first, 5)]) == []


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (landing(), "holds generation 2"),
        (landing(end=11, generation=2), "land it as generation 3"),
        (landing(start=1, generation=2), "another range"),
        (landing(generation=2, stream=StreamName("shop", "visits")), "name another consumer"),
    ],
)
def test_an_older_generation_another_range_or_stream_is_refused(given, text):
    with pytest.raises(LandingError, match=text):
        decide(Noted([HELD]), given)


def test_an_interval_whose_note_does_not_count_replaces_what_is_left():
    for given in (landing(), landing(generation=2), landing(end=11, generation=3)):
        assert decide(Noted([HELD], undone=[HELD]), given) == (Action.REPLACE, None)


@pytest.mark.parametrize("rows", [0, 4, 6])
def test_an_interval_whose_rows_were_removed_or_added_is_refused(rows):
    with pytest.raises(LandingError, match=rf"5 rows of it were landed.*{rows} are in.*as generation 3"):
        decide(Noted([HELD], rows=rows), landing(generation=2))
    assert decide(Noted([HELD], rows=rows), landing(generation=3)) == (Action.REPLACE, None)


def test_a_range_that_was_landed_under_another_name_is_refused():
    zombie = landing("zombie", 0, 7)
    for table in (Noted([HELD]), Noted([Holding.of(landing("earlier", 6, 9), 1)])):
        with pytest.raises(LandingError, match=r"events of its range under another name.*since.*name another consumer"):
            decide(table, zombie)
    apart = [HELD, Holding.of(landing("zombie", 10, 20), 5)]
    with pytest.raises(LandingError, match="another name, 'monday'"):
        decide(Noted(apart), landing("zombie", 9, 20, generation=2))
    assert decide(Noted(apart), landing("zombie", 10, 20, generation=2)) == (Action.REPLACE, None)


@pytest.mark.parametrize(
    ("table", "given"),
    [
        (Noted([HELD]), landing("tuesday", 10, 20)),
        (Noted([HELD], undone=[HELD]), landing("tuesday", 0, 10)),
        (Noted([Holding.of(landing(), 0)]), landing("tuesday", 0, 10)),
        (Noted([HELD]), landing("tuesday", stream=StreamName("shop", "visits"))),
        (Noted([HELD]), Landing(landing("00:00/01:00").interval, cuts(0, 10), of_times=True)),
    ],
)
def test_other_ranges_streams_undone_ones_and_event_times_do_not_overlap(table, given):
    assert decide(table, given) == (Action.APPEND, None)


def test_ranges_share_events_by_the_segments_of_their_cuts():
    def between(start, end):
        names = {each: SegmentId(STREAM, *each) for each in (*start, *end)}
        return StreamCutRange(
            *(StreamCut(STREAM, {names[each]: at for each, at in cut.items()}) for cut in (start, end))
        )

    scaled = between({(0, 0): 50, (1, 0): 5}, {(2, 1): 7, (3, 1): 0, (1, 0): 5})
    for other, shared in [
        (between({(0, 0): 10, (1, 0): 0}, {(0, 0): 50, (1, 0): 5}), False),
        (between({(0, 0): 10, (1, 0): 0}, {(0, 0): 51, (1, 0): 0}), True),
        (between({(0, 0): 10, (1, 0): 9}, {(0, 0): -1, (1, 0): 9}), True),
        (between({(2, 1): 7, (3, 1): 0, (1, 0): 5}, {(2, 1): 9, (3, 1): 1, (1, 0): 6}), False),
        (between({(2, 1): 6, (3, 1): 0, (1, 0): 5}, {(2, 1): 9, (3, 1): 1, (1, 0): 6}), True),
        (between({(0, 0): 50, (1, 0): 5}, {(0, 0): 50, (1, 0): 8}), False),
    ]:
        assert (shares_events(scaled, other), shares_events(other, scaled)) == (shared, shared)


def test_ranges_with_event_times_are_known_by_what_a_sensor_returns():
    given = cuts(0, 10).to_json()
    times = {"since": "2026-01-05T00:00:00+00:00", "until": "2026-01-06T00:00:00+00:00"}
    assert landing_of({**given, **times}, "consumer", "monday").of_times
    assert landing_of(given, "consumer", "monday", event_times=True).of_times
    assert not landing_of(given, "consumer", "monday").of_times


def test_a_holding_is_read_as_it_was_written_and_no_other_way():
    text = HELD.to_json()
    assert Holding.from_json(text) == HELD
    assert (HELD.identity, HELD.range) == (landing().interval, landing().cuts)
    with pytest.raises(LedgerError, match="checksum"):
        Holding.from_json(text.replace(b'"rows":5', b'"rows":6'))


@pytest.mark.parametrize("columns", [["a", "_consumer"], ["_Interval"], ["a", "A"]])
def test_rows_leave_room_for_the_columns_of_a_landing(columns):
    with pytest.raises(LandingError):
        check_columns(columns)


def test_a_landing_has_a_generation_and_a_range_of_its_own_stream():
    with pytest.raises(ConfigurationError, match="from 1"):
        landing(generation=0)
    with pytest.raises(ConfigurationError, match="cuts of shop/orders"):
        Landing(Interval("consumer", STREAM, "monday"), cuts(0, 1, StreamName("shop", "visits")))
    with pytest.raises(ConfigurationError, match="cuts of shop/orders"):
        Landing(Interval("consumer", STREAM, "monday"), StreamCutRange(cuts(0, 1).start, StreamCut.unbounded()))


def test_tables_are_named_by_texts():
    assert table_of("parquet:/lake/orders") == ParquetFolder("/lake/orders")
    assert table_of("postgresql://me:secret@host/db#shop.orders") == Postgres(
        "postgresql://me:secret@host/db", "shop.orders"
    )
    assert table_of("delta:/lake/orders") == DeltaFolder("/lake/orders")
    assert table_of("iceberg:lake/shop.orders") == Iceberg("shop.orders", "lake")
    assert "secret" not in repr(table_of("postgresql://me:secret@host/db#orders"))


@pytest.mark.parametrize(
    "text",
    [
        "orders",
        "kafka:orders",
        "parquet:lake/orders",
        "parquet:s3a://lake/orders",
        "postgresql://host/db",
        "parquet:",
        "iceberg:shop.orders",
    ],
)
def test_what_names_no_table_that_can_be_landed_in_is_refused(text):
    with pytest.raises(ConfigurationError):
        table_of(text)


def record(name, state=IntervalState.DONE, start=0, end=10, number=1):
    made = CutRecord.new(landing(name).interval, cuts(start, end), by="test", number=number)
    return made if state is IntervalState.OPEN else made.changed(state, "test", "a reason")


def test_a_table_is_compared_with_the_ledger():
    records = [
        record("held"),
        record("missing"),
        record("open", IntervalState.OPEN),
        record("failed", IntervalState.FAILED),
        record("skipped", IntervalState.SKIPPED),
        record("moved", start=5),
        record("thinned"),
    ]
    held = [Holding.of(landing(name), 5) for name in ("held", "failed", "skipped", "moved", "thinned", "foreign")]
    rows = {("consumer", each.interval): each.rows for each in held} | {("consumer", "thinned"): 4}
    findings = {each.intervals: (each.kind.value, each.text) for each in compare(records, held, rows)}
    assert {name: kind for (name,), (kind, _) in findings.items()} == {
        "missing": "not in the table",
        "skipped": "in the table",
        "moved": "another range in the table",
        "foreign": "in the table",
        "thinned": "other rows in the table",
    }
    assert findings["thinned",][1] == "5 rows were landed, and 4 are there"
    [undone, taken] = compare(records[:2], held[:1], undone=["missing"], taken="DELETE in version 7")
    assert undone.text.endswith("does not hold it any more: it was restored, rolled back, or dropped and made again")
    assert (taken.kind.value, taken.intervals) == ("other rows in the table", ("held",))
    assert "DELETE in version 7" in taken.text

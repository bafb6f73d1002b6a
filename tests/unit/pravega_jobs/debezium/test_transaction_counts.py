"""Where a range ends that goes through no transaction: held against all cuts there are, and against real events."""

import gzip
import itertools
import json
import random
from pathlib import Path

import pytest

from aiopravega.cuts import StreamCut
from aiopravega.errors import ConfigurationError, MalformedEventError
from aiopravega.names import SegmentId, StreamName
from aiopravega.read.history import History
from pravega_jobs.debezium.transactions.counts import TransactionCounts
from pravega_jobs.debezium.transactions.events import Change, End, change_in, end_in

VECTORS = Path(__file__).parents[3] / "vectors" / "debezium-events.jsonl.gz"
STREAMS = {"a": StreamName("s", "a"), "b": StreamName("s", "b")}
SEGMENTS = {name: [SegmentId(stream, number, 0) for number in range(2)] for name, stream in STREAMS.items()}


def written(rng, transactions):
    """Events of some transactions, of which some are doubled, as (segment, offset, change); and the ends of some."""
    events, ends, at = [], [], dict.fromkeys([*SEGMENTS["a"], *SEGMENTS["b"]], 0)

    def write(name, table, number):
        segment = SEGMENTS[table][(int(name[1:]) * 7 + number * 3) % 5 % 2]
        events.append((segment, at[segment], Change(name, (table,), number)))
        at[segment] += 1

    for index in range(transactions):
        name, counts = f"t{index}", {table: rng.randrange(3) for table in STREAMS}
        mine = [(table, number + 1) for table, count in counts.items() for number in range(count)]
        rng.shuffle(mine)
        for table, number in mine:
            write(name, table, number)
        if rng.random() < 0.3:  # Debezium begins again somewhere before
            for _, _, change in events[-rng.randrange(1, 4) :]:
                write(change.transaction, change.tables[0], change.number)
        if rng.random() < 0.8:
            ends.append(End(name, {table: count for table, count in counts.items() if count}))
    return events, ends, at


def is_whole(cut, events, ends):
    """The rule itself: whatever has a change before the cut has all of them before it."""
    before: dict[str, set[tuple[str, int]]] = {}
    for segment, offset, change in events:
        if offset < cut[segment]:
            before.setdefault(change.transaction, set()).add((change.tables[0], change.number))
    known = {end.transaction: sum(end.counts.values()) for end in ends}
    return all(len(numbers) == known.get(name) for name, numbers in before.items())


def found_cut(events, ends, end):
    counts = TransactionCounts(STREAMS)
    for segment, offset, change in sorted(events, key=lambda event: (event[0], event[1])):
        counts.change(change, segment, offset)
    for one in ends:
        counts.end(one)
    return counts.limits(end, lambda limits: limits)


@pytest.mark.parametrize("seed", range(200))
def test_the_cut_is_the_last_one_of_all_that_go_through_no_transaction(seed):
    rng = random.Random(seed)
    events, ends, end = written(rng, rng.randrange(1, 5))

    cut = found_cut(events, ends, end)

    assert is_whole(cut, events, ends)
    all_cuts = itertools.product(*(range(length + 1) for length in end.values()))
    whole = [some for values in all_cuts if is_whole(some := dict(zip(end, values, strict=True)), events, ends)]
    # No cut that is whole has a position after this one: changes of a segment are doubled in the same segment here.
    assert cut == {segment: max(some[segment] for some in whole) for segment in end}


A, B = SEGMENTS["a"]


def limits(counts, length=100):
    return counts.limits({A: length, B: length}, lambda some: some)


def taken(*changes, most=1000):
    counts = TransactionCounts(most_kept=most)
    for segment, offset, name, number in changes:
        counts.change(Change(name, ("a",), number), segment, offset)
    return counts


def test_a_waiting_transaction_holds_back_those_after_it_and_theirs():
    counts = taken((A, 0, "1", 1), (A, 10, "2", 1), (A, 20, "3", 1), (B, 5, "3", 2), (B, 9, "4", 1), (B, 1, "1", 2))
    for name, count in (("1", 2), ("2", 2), ("3", 2), ("4", 1)):
        counts.end(End(name, {"a": count}))

    assert limits(counts) == {A: 10, B: 5}
    assert counts.not_whole() == {"2": 1}


def test_a_transaction_without_an_end_waits_but_not_one_without_changes():
    counts = taken((A, 0, "1", 1))
    counts.end(End("ddl", {}))

    assert limits(counts) == {A: 0, B: 100}
    assert counts.not_whole() == {"1": None}


def test_doubles_of_what_was_whole_before_the_range_hold_nothing_back():
    counts = taken((A, 0, "old", 3), (A, 8, "new", 1))
    counts.end(End("old", {"a": 3}))
    counts.end(End("new", {"a": 1}))
    assert counts.maybe_doubles == {"old"}
    assert limits(counts) == {A: 0, B: 100}

    for number in (1, 2, 3):
        counts.earlier(Change("old", ("a",), number), A)
    counts.resolve_doubles()

    assert limits(counts) == {A: 100, B: 100}


def test_a_transaction_that_is_being_written_is_not_taken_for_doubles():
    counts = taken((A, 0, "1", 2), (A, 8, "2", 2))
    counts.end(End("1", {"a": 2}))
    counts.end(End("2", {"a": 2}))
    assert counts.maybe_doubles == {"1", "2"}

    counts.later(Change("1", ("a",), 1), A)  # new
    counts.later(Change("2", ("a",), 2), A)  # a further double

    assert counts.maybe_doubles == {"2"}


def test_a_transaction_that_began_before_the_range_is_whole():
    counts = taken((A, 4, "1", 2), (A, 8, "1", 3))
    counts.end(End("1", {"a": 3}))

    counts.earlier(Change("1", ("a",), 1), A)
    counts.resolve_doubles()

    assert limits(counts) == {A: 100, B: 100}


@pytest.mark.parametrize(
    ("end", "complaint"),
    [
        (End("1", {"a": 1}), "ends with 1 changes of a, but there is one with the number 2"),
        (End("1", {"b": 2}), "ends with 0 changes of a"),
    ],
)
def test_an_end_that_contradicts_its_changes_is_refused(end, complaint):
    with pytest.raises(MalformedEventError, match=complaint):
        taken((A, 0, "1", 1), (A, 1, "1", 2)).end(end)


def test_two_ends_that_differ_are_refused_and_memory_has_a_limit():
    counts = taken((A, 0, "1", 1))
    counts.end(End("1", {"a": 2}))
    with pytest.raises(MalformedEventError, match="has two ends"):
        counts.end(End("1", {"a": 3}))
    with pytest.raises(ConfigurationError, match="too many transactions to keep"):
        taken(*((A, number, str(number), 1) for number in range(11)), most=10)
    with pytest.raises(ConfigurationError, match="too many transactions to keep"):
        taken(*((A, 100 - number, "1", number) for number in range(100, 1, -1)), most=10)
    taken(*((A, number, "1", number) for number in range(1, 100)), most=10)  # in their order


def test_a_table_that_nobody_named_is_refused():
    counts = taken((A, 0, "1", 1))

    with pytest.raises(ConfigurationError, match="has changes of the table other, but a was expected"):
        counts.change(Change("2", ("other",), 1), A, 8)
    with pytest.raises(ConfigurationError, match="but a, b was expected"):
        TransactionCounts(STREAMS).change(Change("2", ("b",), 1), A, 8)


@pytest.mark.parametrize("settings", ["plain", "transaction-sink", "mariadb-plain"])
def test_ends_of_real_transactions_count_the_changes_that_are_there(settings):
    vectors = [json.loads(line) for line in gzip.decompress(VECTORS.read_bytes()).splitlines()]
    events = {(one["event"] or "").encode() for one in vectors if one["settings"] == settings}

    changes = {change for event in events if (change := change_in(event))}
    ends = [end for event in events if (end := end_in(event))]

    found: dict[str, dict[str, set[int]]] = {}
    for change in changes:
        # A name in an end is one of those that the table of a change may have.
        found.setdefault(change.transaction, {}).setdefault(change.tables[0], set()).add(change.number)
    whole = [
        end for end in ends if {t: len(numbers) for t, numbers in found.get(end.transaction, {}).items()} == end.counts
    ]
    assert len({end.transaction for end in whole}) >= 4
    assert max(sum(end.counts.values()) for end in whole) >= 4  # of two tables
    for end in ends:
        for table, numbers in found.get(end.transaction, {}).items():
            assert max(numbers) <= end.counts[table]


@pytest.mark.parametrize(
    ("event", "complaint"),
    [
        (b"{", "it is not JSON"),
        (b"[]", "not an object"),
        (b'{"id":1}', "it has no op"),
        (b'{"op":"x"}', "its op is 'x'"),
        (b'{"op":"c","transaction":{"id":"1"},"source":{"table":"a"}}', "not the form of Debezium's"),
        (b'{"op":"c","transaction":{"id":"1","data_collection_order":0},"source":{"table":"a"}}', "not the form"),
    ],
)
def test_events_that_are_not_understood_are_refused(event, complaint):
    with pytest.raises(MalformedEventError, match=complaint):
        change_in(event)


def test_changes_without_a_transaction_are_refused_naming_the_setting():
    with pytest.raises(ConfigurationError, match="provide.transaction.metadata=true"):
        change_in(b'{"op":"c","transaction":null,"source":{"table":"a"}}')
    with pytest.raises(MalformedEventError, match="its status is 'ABORT'"):
        end_in(b'{"status":"ABORT"}')
    with pytest.raises(MalformedEventError, match="not the form of the end"):
        end_in(b'{"status":"END","id":"1"}')
    assert all(change_in(event) is None for event in (b"", b'{"op":"r","transaction":null}', b'{"ts_ms":5}'))


def test_events_with_schemas_are_read_and_names_have_no_position():
    about = {"id": "1005:30000928", "data_collection_order": 2}
    payload = {"op": "c", "source": {"db": "inv", "schema": "public", "table": "t"}, "transaction": about}
    event = json.dumps({"schema": {"type": "struct"}, "payload": payload}).encode()

    assert change_in(event) == Change("1005", ("public.t", "inv.public.t"), 2)
    ended = {"status": "END", "id": "1005:30001608", "data_collections": [{"data_collection": "a", "event_count": 1}]}
    assert end_in(json.dumps(ended).encode()) == End("1005", {"a": 1})


def test_a_cut_of_a_scaled_stream_is_lowered_into_what_was_replaced():
    stream = StreamName("s", "scaled")
    old, low, high = SegmentId(stream, 0, 0), SegmentId(stream, 1, 1), SegmentId(stream, 2, 1)
    history = History(stream, {old: [], low: [old], high: [old]}, {old: 100})
    end = StreamCut(stream, {low: 50, high: 60})

    assert history.lowered(end, {low: 10}) == StreamCut(stream, {low: 10, high: 60})
    assert history.lowered(end, {old: 70}) == StreamCut(stream, {old: 70})
    assert history.lowered(end, {}) == end

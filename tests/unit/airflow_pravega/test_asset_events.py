"""Facts about ranges in the events of assets: which outlet gets which, how long they are, and what is refused."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import Asset, AssetAlias
from airflow.sdk.execution_time.context import OutletEventAccessors

from aiopravega import StreamCut, StreamCutRange, StreamName
from aiopravega.errors import ConfigurationError
from aiopravega.names import SegmentId
from airflow_pravega.asset_events import (
    KEY,
    MOST_CHARACTERS,
    Kind,
    range_of_event,
    ranges_of_events,
    tell,
    took,
    written,
)

SOURCE, RESULT = StreamName("shop", "orders"), StreamName("shop", "totals")
TIMES = {"since": "2026-01-01T00:00:00+00:00", "until": "2026-01-02T00:00:00+00:00"}
GIVEN = {"consumer": "dag/wait", "interval": "day", **TIMES}


def cuts(stream, segments=2):
    parts = [SegmentId(stream, number, 0) for number in range(segments)]
    start, end = ({part: 10**9 * at + part.number * 7919 for part in parts} for at in (0, 5))
    return StreamCutRange(StreamCut(stream, start), StreamCut(stream, end))


def result(stream, segments=2):
    counts = {"events": 3, "bytes": 99, "write_id": "id", "generation": 2}
    return {"stream": str(stream), "cuts": cuts(stream, segments).to_json(), **counts}


def event(facts, **more):
    extra = {**more} if facts is None else {KEY: facts, **more}
    return SimpleNamespace(asset=SimpleNamespace(uri="pravega://shop/totals"), extra=extra)


def noted(*outlets, facts):
    accessors = OutletEventAccessors()
    tell({"task": EmptyOperator(task_id="task", outlets=list(outlets)), "outlet_events": accessors}, *facts)
    return accessors


def test_a_write_is_read_as_it_was_noted():
    found = range_of_event(event(written(result(RESULT), GIVEN)))
    assert (found.kind, found.stream, found.range) == (Kind.WRITE, RESULT, cuts(RESULT))
    assert (found.rows, found.bytes, found.write_id, found.generation) == (3, 99, "id", 2)
    assert (found.consumer, found.interval) == ("dag/wait", "day")
    assert found.times == (datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC))
    assert found.to_json() == cuts(RESULT).to_json()  # the times are those of the rows' source


def test_a_landing_is_read_as_it_was_noted():
    facts = took(SOURCE, cuts(SOURCE), GIVEN, Kind.LAND, rows=3, generation=1, table="delta:/t")
    [found] = ranges_of_events([event(facts)])
    assert (found.kind, found.rows, found.bytes, found.table, found.generation) == (Kind.LAND, 3, None, "delta:/t", 1)
    assert found.to_json() == {**cuts(SOURCE).to_json(), **TIMES}  # and no names: the interval is of another task


def test_each_outlet_gets_the_facts_about_itself():
    source, target = Asset("a", uri=f"pravega://{SOURCE}"), Asset("b", uri=f"pravega://{RESULT}")
    table, other, alias = Asset("table"), Asset("c", uri="pravega://shop/other"), AssetAlias("written")
    facts = written(result(RESULT), GIVEN), took(SOURCE, cuts(SOURCE), GIVEN)
    found = noted(source, target, table, other, alias, facts=facts)
    assert [found[each].extra.get(KEY, {}).get("kind") for each in (source, target, table, other)] == [
        "take",
        "write",
        "write",
        None,
    ]
    [added] = found[alias].asset_alias_events
    assert (added.dest_asset_key.uri, added.extra[KEY]["stream"]) == (f"pravega://{RESULT}", str(RESULT))


def test_the_event_of_a_task_with_several_ranges_has_none_of_them():
    table, accessors = Asset("table"), OutletEventAccessors()
    context: Any = {"task": EmptyOperator(task_id="task", outlets=[table]), "outlet_events": accessors}
    one, other = (took(SOURCE, cuts(SOURCE, segments), {}) for segments in (1, 2))
    for each in (one, one):
        tell(context, each)
    assert accessors[table].extra[KEY] == one
    tell(context, other)
    with pytest.raises(ConfigurationError, match="has worked on several ranges"):
        range_of_event(event(accessors[table].extra[KEY]))


def test_an_alias_of_a_task_that_writes_nothing_gets_no_event():
    alias = AssetAlias("written")
    assert noted(alias, facts=[took(SOURCE, cuts(SOURCE), {})])[alias].asset_alias_events == []


def test_long_cuts_are_left_out_and_refused_by_name():
    facts = written(result(RESULT, 10_000))
    assert sum(len(str(value)) for value in facts.values()) < 1000
    with pytest.raises(ConfigurationError, match=f"for 10,000 segments, and an event has at most {MOST_CHARACTERS:,}"):
        range_of_event(event(facts))
    assert range_of_event(event(written(result(RESULT, 1000)))).range == cuts(RESULT, 1000)


def test_a_write_whose_cuts_are_not_known_is_refused():
    with pytest.raises(ConfigurationError, match="may not ask for the cuts of its write"):
        range_of_event(event(written({**result(RESULT), "cuts": None})))


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (event(None), "no operator of the Pravega provider has made it"),
        (event("text"), "no operator of the Pravega provider has made it"),
        (event(None, from_trigger=True, payload={}), "a trigger has made it, which only wakes"),
        (event({**written(result(RESULT)), "version": 2}), "has the version 2, and this release reads version 1"),
        (event({**written(result(RESULT)), "kind": "x"}), "cannot be read: ValueError"),
        (event({**written(result(RESULT)), "stream": "shop/x"}), "its cuts are of shop/totals, and it is about shop/x"),
        (event({"version": 1, "stream": "shop/x"}), "cannot be read"),
    ],
)
def test_an_event_that_is_not_ours_is_refused(made, message):
    with pytest.raises(ConfigurationError, match=message):
        range_of_event(made)

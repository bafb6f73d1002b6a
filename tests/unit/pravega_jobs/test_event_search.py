"""Conditions on the content of events: which comparisons hold, and which texts are refused."""

import json

import pytest

from aiopravega.cuts import StreamCut
from aiopravega.errors import ConfigurationError
from aiopravega.names import SegmentId, StreamName
from pravega_jobs.event_search import EventCondition, EventSearch, parsed

EVENT = {"type": "end", "total": 5, "items": [{"price": 3.5}, {"price": 4}], "ok": True, "none": None, "a b": 1}
STREAM = StreamName("shop", "orders")
CUT = StreamCut(STREAM, {SegmentId(STREAM, 0, 0): 0})


@pytest.mark.parametrize(
    ("where", "holds"),
    [
        ("$.type == 'end'", True),
        ('$.type == "end"', True),
        ('$.type=="en d"', False),
        ("$.total > 4 && $.total<=5", True),
        ("$.total > 4 && $.total < 5", False),
        ("$.total == 5.0", True),
        ("$.items[0].price >= 3.5", True),
        ("$.items[-1].price == 4", True),
        ("$.items[2].price == 4", False),
        ("$['a b'] == 1", True),
        ("$.none == null", True),
        ("$.ok == true", True),
        # A truth value is not a number, and a text is not compared with a number.
        ("$.ok == 1", False),
        ("$.type < 5", False),
        ("$.type != 5", True),
        ("$.type > 'beg'", True),
        # A value that is missing is equal to nothing, and alone a path asks whether it is there.
        ("$.missing == null", False),
        ("$.missing != 3", True),
        ("$.none", True),
        ("$.missing", False),
        ("$.type.missing", False),
    ],
)
def test_a_comparison_holds_as_it_reads(where, holds):
    assert parsed(where)(EVENT) is holds
    kept = EventCondition.from_json(json.loads(json.dumps(EventCondition(where).to_json())))
    assert kept.test()(EVENT) is holds


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("type == 1", "from 'type == 1' on"),
        ("$.a || $.b", r"from ' \|\| \$.b' on"),
        ("$..a", "from '..a' on"),
        ("$.a[*] == 1", "from"),
        ("$.a == [1]", "from '"),
        ("$.a == 'x", 'from " == \'x" on'),
        ("$.a = 1", "from ' = 1' on"),
        ("", "from '' on"),
    ],
)
def test_a_text_that_is_not_understood_is_refused_with_the_ways_out(where, said):
    with pytest.raises(ConfigurationError, match=said) as refused:
        EventCondition(where)
    assert "function='module:function'" in str(refused.value)


def test_a_condition_that_cannot_work_is_refused():
    for given, said in (
        ({}, "where= or function="),
        ({"where": "$", "function": "json:loads"}, "and not both"),
        ({"where": "$", "decode": "bytes"}, "compares values of JSON"),
        ({"where": "$", "decode": "avro"}, "decode is 'avro'"),
        ({"where": "$", "on_error": "dead"}, "on_error is 'dead'"),
    ):
        with pytest.raises(ConfigurationError, match=said):
            EventCondition(**given)
    for function, said in (("json", "write module:function"), ("json:nothing", "has no"), ("asyncio:sleep", "plain")):
        with pytest.raises(ConfigurationError, match=said):
            EventCondition(function=function).test()
    with pytest.raises(ConfigurationError, match="at least 1 each"):
        EventSearch(EventCondition("$"), CUT, most_events=0, most_bytes=1, log=None)

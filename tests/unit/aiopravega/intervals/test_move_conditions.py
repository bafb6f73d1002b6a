import json

import pytest

from aiopravega import StreamCut
from aiopravega.errors import ConfigurationError
from aiopravega.intervals.conditions.move_condition import Combine, MoveCondition


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"quiet_for": -1.0}, "quiet_for is -1 s"),
        ({"min_events": -1}, "min_events -1: at least 0"),
        ({"min_bytes": 10, "max_bytes": 9}, r"max_bytes is 9, but must be at least min_bytes \(10\)"),
        ({"min_events": 10, "max_events": 9}, r"max_events is 9, but must be at least min_events \(10\)"),
        ({"max_events": 0}, "and at least 1"),
        ({"reach": StreamCut.unbounded()}, "an unbounded StreamCut is not a position"),
        ({"combine": Combine.ANY}, "combine=any has no condition"),
        ({"combine": Combine.ANY, "max_bytes": 5}, "combine=any has no condition"),
        ({"transactions": "a stream"}, "a stream"),
    ],
)
def test_what_never_holds_is_refused(wrong, message):
    with pytest.raises(ConfigurationError, match=message):
        MoveCondition(**wrong)


@pytest.mark.parametrize(
    ("condition", "least", "text"),
    [
        ({}, 1, "1 bytes"),
        ({"min_bytes": 0}, 0, "0 bytes"),
        ({"min_bytes": 5, "sealed": True}, 5, "5 bytes, sealed"),
        ({"min_bytes": 5, "min_events": 2, "combine": Combine.ANY}, 1, "5 bytes or 2 events"),
        ({"min_bytes": 0, "quiet_for": 2.5, "combine": Combine.ANY}, 0, "0 bytes or nothing written for 2.5 s"),
        ({"watermark": 7}, 1, "complete up to the event time 7"),
        ({"transactions": "s/t"}, 1, "1 bytes, up to where the transactions of s/t are whole"),
    ],
)
def test_a_condition_round_trips_through_json_and_has_a_text(condition, least, text):
    made = MoveCondition(**condition)
    assert MoveCondition.from_json(json.loads(json.dumps(made.to_json()))) == made
    assert made.least_bytes == least
    assert str(made) == text

"""Metadata and versions of ranges."""

from aiopravega import StreamCut, StreamCutRange, StreamName
from aiopravega.names import SegmentId
from dagster_pravega.metadata.measures import data_version, measures


def a_range(segments: int, size: int = 1000) -> StreamCutRange:
    stream = StreamName("examples", "flights")
    return StreamCutRange(
        *(
            # Numbers without a pattern, so that the text of the cut does not shrink.
            StreamCut(stream, {SegmentId(stream, n, 0): n * n * 7919 % 10007 + offset for n in range(segments)})
            for offset in (0, size)
        )
    )


def test_a_version_is_the_texts_of_the_cuts():
    cuts = a_range(4)
    assert data_version(cuts).value == f"{cuts.start.to_text()}..{cuts.end.to_text()}"


def test_the_version_of_a_range_of_many_segments_stays_short_and_its_own():
    version = data_version(a_range(2000)).value
    assert version.startswith("sha256:")
    assert len(version) < 100
    assert version != data_version(a_range(2000, size=1001)).value


def test_what_is_not_known_is_left_out():
    assert measures("examples/flights", 5, 60) == {
        "pravega/stream": "examples/flights",
        "pravega/events": 5,
        "pravega/bytes": 60,
    }


def test_the_rate_is_in_events_per_second():
    assert measures("examples/flights", 100, 1200, 8.0)["pravega/events_per_second"] == 12.5

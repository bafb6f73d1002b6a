"""The typed configuration of an input is the metadata that inputs are read by, and wrong values are refused at once."""

import dagster as dg
import pytest

import dagster_pravega
from aiopravega import SegmentId, StreamCut, StreamName
from aiopravega.errors import ConfigurationError
from dagster_pravega import StreamInput, pravega_stream_spec

VISITS = pravega_stream_spec("shop/visits")
CUT = StreamCut(StreamName("shop", "visits"), {SegmentId(StreamName("shop", "visits"), 0, 0): 7}).to_text()


@pytest.mark.parametrize(
    ("fields", "metadata"),
    [
        ({}, {}),
        ({"since": "last"}, {"pravega/since": "last"}),
        ({"since": "latest", "consumer": "pages"}, {"pravega/since": "latest", "pravega/consumer": "pages"}),
        ({"start": CUT}, {"pravega/cuts": {"start": CUT, "end": "unbounded"}}),
        ({"end": "latest"}, {"pravega/cuts": {"start": "unbounded", "end": "latest"}}),
        ({"on_truncated": "skip"}, {"pravega/on_truncated": "skip"}),
        ({"columns": ["id"], "json_columns": "id int"}, {"columns": ["id"], "pravega/columns": "id int"}),
        (
            {"options": {"decode": "json", "clip": True, "event_time_ahead": 5}},
            {"pravega/options": {"decode": "json", "clip": "true", "event_time_ahead": "5"}},
        ),
    ],
)
def test_an_input_has_the_metadata_that_are_read(fields, metadata):
    given = StreamInput(**fields)
    assert given.metadata() == metadata
    made = given.asset_in(VISITS, partition_mapping=dg.AllPartitionMapping())
    assert (made.key, made.input_manager_key, made.metadata) == (VISITS.key, "pravega_spark", metadata)
    assert isinstance(made.partition_mapping, dg.AllPartitionMapping)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"sinse": "last"}, "sinse: Extra inputs are not permitted. Its fields are since, start, end"),
        ({"since": "yesterday"}, "since: Value error, must be one of last, latest"),
        ({"start": "today"}, "start: .*is not the text of a StreamCut"),
        ({"since": "last", "end": "latest"}, "the same for all runs"),
        ({"on_truncated": "hope"}, "on_truncated: Input should be 'fail' or 'skip'"),
        ({"consumer": ""}, "consumer: String should have at least 1 character"),
        ({"options": {"password": "hush-hush"}}, "would be kept in Dagster's database"),
    ],
)
def test_what_cannot_work_is_refused_where_it_is_written(fields, message):
    with pytest.raises(ConfigurationError, match=message) as refused:
        StreamInput(**fields)
    assert "hush-hush" not in str(refused.value)


@pytest.mark.parametrize(
    ("former", "name"),
    [
        ("observe_pravega_stream", "build_observed_stream"),
        ("pravega_cdc_asset", "build_cdc_asset"),
        ("complete_partitions_sensor", "build_complete_partitions_sensor"),
    ],
)
def test_a_former_name_is_taken_with_a_warning(former, name):
    with pytest.warns(DeprecationWarning, match=f"dagster_pravega.{former} is now {name}"):
        assert getattr(dagster_pravega, former) is getattr(dagster_pravega, name)
    assert former not in dagster_pravega.__all__


def test_another_name_is_none_of_the_package():
    name = "build_nothing"
    with pytest.raises(AttributeError, match=name):
        getattr(dagster_pravega, name)

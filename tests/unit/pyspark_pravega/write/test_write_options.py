"""The options of a write have the names and defaults of Pravega's JVM connector; what cannot work says why."""

from datetime import timedelta

import pytest

from aiopravega import RetentionPolicy, ScalingPolicy, StreamName
from aiopravega.errors import ConfigurationError
from pyspark_pravega.write.write_options import WriteOptions

NEEDED = {"scope": "examples", "stream": "orders"}


def parse(**options: str) -> WriteOptions:
    return WriteOptions.parse(NEEDED | options)


def test_scope_and_stream_are_enough() -> None:
    options = parse()

    assert options.stream == StreamName("examples", "orders")
    assert (options.exactly_once, options.wait_visible, options.create_scope, options.create_stream) == (True,) * 4
    assert (options.lease, options.poll) == (120.0, 0.05)
    assert (options.ledger_scope, options.ledger_table) == ("examples", "commit-ledger")
    assert (options.scaling, options.retention) == (ScalingPolicy.fixed(1), RetentionPolicy.none())


def test_a_write_without_an_id_gets_one_of_its_own() -> None:
    assert parse().write_id != parse().write_id
    assert parse(write_id="daily/2013-01-01").write_id == "daily/2013-01-01"


def test_the_ledger_remembers_a_write_for_a_month_unless_said_otherwise() -> None:
    assert parse().ledger_retain == 30 * 86_400
    assert parse(commit_ledger_retain_days="1").ledger_retain == 86_400


def test_names_of_options_have_no_case() -> None:
    assert WriteOptions.parse({"Scope": "examples", "STREAM": "orders"}).stream == StreamName("examples", "orders")


def test_leases_longer_than_the_server_grants_are_shortened() -> None:
    assert parse(transaction_timeout_ms="2592000000").lease == 600.0


def test_a_stream_that_is_made_gets_the_policies_of_the_options() -> None:
    by_bytes = parse(default_segment_target_rate_bytes_per_sec="500000", default_num_segments="3")
    by_events = parse(default_segment_target_rate_events_per_sec="100", default_scale_factor="4")

    assert by_bytes.scaling == ScalingPolicy.by_data_rate(500, 2, 3)
    assert by_events.scaling == ScalingPolicy.by_event_rate(100, 4, 1)
    assert parse(default_retention_size_bytes="10").retention == RetentionPolicy.bytes(10)
    assert parse(default_retention_duration_milliseconds="10").retention == RetentionPolicy.time(
        timedelta(milliseconds=10)
    )


def test_marks_of_a_new_stream_wait_for_a_write_that_notes_times() -> None:
    assert parse().patience == timedelta()
    assert parse(event_time="at").patience == timedelta(minutes=10)
    patience = {"default_timestamp_aggregation_timeout_milliseconds": "5000"}
    assert parse(**patience).patience == parse(event_time="at", **patience).patience == timedelta(seconds=5)


@pytest.mark.parametrize(
    ("options", "mode"),
    [
        ({}, "exactly_once"),
        ({"exactly_once": "true"}, "exactly_once"),
        ({"exactly_once": "false"}, "at_least_once"),
        ({"writer_mode": "at_least_once"}, "at_least_once"),
        ({"writer_mode": "best_effort", "exactly_once": "false"}, "best_effort"),
    ],
)
def test_the_mode_has_an_option_of_its_own_and_that_of_the_jvm_connector(options: dict[str, str], mode: str) -> None:
    assert parse(**options).mode == mode
    assert parse(**options).exactly_once == (mode == "exactly_once")


def test_a_streaming_write_has_a_shorter_lease_and_takes_what_spark_adds() -> None:
    options = WriteOptions.parse(NEEDED | {"checkpointLocation": "/somewhere"}, streaming=True)

    assert options.lease == 30.0
    with pytest.raises(ConfigurationError, match="named by its checkpoint"):
        WriteOptions.parse(NEEDED | {"write_id": "x"}, streaming=True)


def test_options_of_a_typed_read_do_not_disturb_a_write() -> None:
    options = parse(decode="json", schema_text="{}", event_time_unit="us")

    assert not options.columns.encoded


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"writer_mode": "twice"}, "'writer_mode' is 'twice', but must be one of exactly_once, at_least_once"),
        ({"writer_mode": "best_effort", "exactly_once": "true"}, "say different things"),
        ({"encode": "auto"}, "a write has to say: json, avro, protobuf or debezium-json"),
        ({"schema_text": "{}"}, "'schema_text' is for events that are encoded"),
        ({"event_time_delay_ms": "5"}, "need option 'event_time'"),
        ({"event_time": "at", "event_time_unit": "days"}, "'days' is not a unit"),
        ({"write_it": "x"}, "no option 'write_it': did you mean write_id"),
        ({"stream": ""}, "'stream' is missing"),
        ({"scope": ""}, "has no scope"),
        ({"controller": "http://here:1"}, "tcp://host:port"),
        ({"exactly_once": "maybe"}, "'exactly_once' is 'maybe', but must be true or false"),
        ({"transaction_timeout_ms": "soon"}, "'transaction_timeout_ms' is 'soon', but must be a whole number"),
        ({"transaction_timeout_ms": "500"}, "must be at least 10000"),
        ({"exactly_once": "false", "write_id": "x"}, "'write_id' needs exactly_once=true"),
        ({"commit_ledger_retain_days": "0"}, "'commit_ledger_retain_days' is 0, but must be at least 1"),
        ({"commit_ledger": "table"}, "'commit_ledger' is 'table', but must be scope/table"),
        (
            {
                "default_segment_target_rate_bytes_per_sec": "1",
                "default_segment_target_rate_events_per_sec": "1",
            },
            "exclude each other",
        ),
        (
            {"default_retention_duration_milliseconds": "1", "default_retention_size_bytes": "1"},
            "exclude each other",
        ),
    ],
)
def test_what_cannot_work_is_refused_with_its_name(options: dict[str, str], complaint: str) -> None:
    with pytest.raises(ConfigurationError, match=complaint):
        parse(**options)


def test_secrets_are_in_no_text_of_the_options() -> None:
    options = parse(username="ada", password="hush-hush")

    assert "hush-hush" not in repr(options)
    assert "hush-hush" not in str(options)


def test_a_write_is_of_the_first_generation_unless_it_says_which() -> None:
    assert parse().rebuild == 1
    assert parse(write_id="daily", rebuild="2").rebuild == 2


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"write_id": "daily", "rebuild": "0"}, "'rebuild' is 0, but must be at least 1"),
        ({"write_id": "daily", "rebuild": "1.5"}, "'rebuild' is '1.5', but must be a whole number"),
        ({"rebuild": "2"}, "'rebuild' needs option 'write_id'"),
        ({"rebuild": "2", "writer_mode": "at_least_once"}, "'rebuild' needs exactly_once=true"),
    ],
)
def test_a_generation_that_cannot_be_is_refused(options: dict[str, str], complaint: str) -> None:
    with pytest.raises(ConfigurationError, match=complaint):
        parse(**options)


def test_a_streaming_query_has_no_generations_and_is_told_what_to_do() -> None:
    with pytest.raises(ConfigurationError, match="'rebuild' is for spark.write: .*foreachBatch.*new checkpoint"):
        WriteOptions.parse(NEEDED | {"rebuild": "2"}, streaming=True)


def test_a_streaming_query_cannot_refuse_what_spark_repeats() -> None:
    assert parse(on_written="fail").on_written == "fail"
    with pytest.raises(ConfigurationError, match="'on_written' is 'fail', but Spark repeats .* use 'verify'"):
        WriteOptions.parse(NEEDED | {"on_written": "fail"}, streaming=True)

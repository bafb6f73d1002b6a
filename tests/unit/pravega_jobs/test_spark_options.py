"""Options that schedulers give to Spark's data source: it reads from them what was meant."""

from pathlib import Path

import pytest

from aiopravega import PravegaConfig, SegmentId, StreamCut, StreamCutRange, StreamName
from pravega_jobs.spark.options import CONNECTION_OPTIONS, connection_options, interval_options, range_options

STREAM = StreamName("examples", "orders")


@pytest.fixture(autouse=True)
def _no_settings_around(monkeypatch: pytest.MonkeyPatch):
    for setting in CONNECTION_OPTIONS.values():
        monkeypatch.delenv(f"PRAVEGA_{setting.upper()}", raising=False)


def test_options_say_how_to_reach_the_cluster(tmp_path: Path):
    ca = tmp_path / "ca.crt"
    ca.touch()
    config = PravegaConfig(
        controller_uri="tls://pravega:9090", username="ada", password="s3cret", ca_file=str(ca), scope="examples"
    )

    assert connection_options(config) == {
        "controller": "tls://pravega:9090",
        "verify_hostname": "true",
        "max_event_bytes": "2147483639",
        "scope": "examples",
        "username": "ada",
        "password": "s3cret",
        "ca_file": str(ca),
    }


def test_options_leave_out_what_is_not_set():
    config = PravegaConfig(controller_uri="tcp://pravega:9090", token="t", verify_hostname=False, max_event_bytes=100)

    options = connection_options(config)

    assert options == {
        "controller": "tcp://pravega:9090",
        "token": "t",
        "verify_hostname": "false",
        "max_event_bytes": "100",
    }


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"username": "ada", "password": "s3cret", "scope": "examples"},
        {"token_source": "file:/run/token", "controller_uri": "tcp://[::1]:9090"},
        {
            "token": "t",
            "max_event_bytes": 8 * 1024 * 1024,
            "verify_hostname": False,
            "controller_uri": "tls://pravega:9090",
        },
    ],
)
def test_the_source_reads_the_same_configuration_from_them(settings):
    config = PravegaConfig(**settings)

    assert PravegaConfig.from_options(connection_options(config), CONNECTION_OPTIONS) == config


def test_a_range_is_the_texts_of_its_cuts():
    start, end = (StreamCut(STREAM, {SegmentId(STREAM, 0, 0): offset}) for offset in (0, 8))

    options = range_options(StreamCutRange(start, end))

    assert options == {"start_stream_cut": start.to_text(), "end_stream_cut": end.to_text()}


def test_an_interval_is_its_start_and_its_end():
    assert interval_options("2013-01-01T00:00:00Z", "2013-01-02T00:00:00Z") == {
        "event_time_from": "2013-01-01T00:00:00Z",
        "event_time_to": "2013-01-02T00:00:00Z",
    }

from pathlib import Path

import pytest

from aiopravega import PravegaConfig
from aiopravega.errors import StreamTruncatedError
from airflow_pravega.spark.connector import connection_options, errors_of_the_client

TRACEBACK = """[PYTHON_DATA_SOURCE_ERROR] Cannot plan the Python data source: Traceback (most recent call last):
  File "plan_data_source_read.py", line 399, in main
aiopravega.errors.SegmentNotFoundError: first

The above exception was the direct cause of the following exception:

  File "batch_read.py", line 65, in partitions
aiopravega.errors.StreamTruncatedError: a/b starts at offset 7: start from the head

\tat org.apache.spark.sql.errors.QueryCompilationErrors$.pythonDataSourceError(QueryCompilationErrors.scala:4087)
"""


def test_options_say_how_to_reach_the_cluster(tmp_path: Path):
    ca = tmp_path / "ca.crt"
    ca.touch()
    config = PravegaConfig(
        controller_uri="tls://pravega:9090", username="ada", password="s3cret", ca_file=str(ca), scope="examples"
    )
    assert connection_options(config) == {
        "controller": "tls://pravega:9090",
        "verify_hostname": "true",
        "scope": "examples",
        "username": "ada",
        "password": "s3cret",
        "ca_file": str(ca),
    }


def test_options_leave_out_what_is_not_set():
    config = PravegaConfig(controller_uri="tcp://pravega:9090", token="t", verify_hostname=False)
    options = connection_options(config)
    assert options["token"] == "t"
    assert options["verify_hostname"] == "false"
    assert not options.keys() & {"username", "password", "ca_file", "scope"}


def test_an_error_inside_spark_is_raised_as_what_it_was():
    message = "^a/b starts at offset 7: start from the head$"
    with pytest.raises(StreamTruncatedError, match=message), errors_of_the_client():
        raise RuntimeError(TRACEBACK)


def test_other_errors_of_spark_stay_as_they_are():
    with pytest.raises(RuntimeError, match="out of memory"), errors_of_the_client():
        raise RuntimeError("out of memory")

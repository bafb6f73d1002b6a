"""The Spark session of an asset: the IO manager's, and a new one if the JVM has died."""

import subprocess
import sys
from pathlib import Path

import pytest

from aiopravega.errors import ConfigurationError
from dagster_pravega import spark_session
from dagster_pravega.resources.sessions import release, use

_JOB = Path(__file__).with_name("session_job.py")


def test_an_asset_without_inputs_gets_a_new_session_after_its_jvm_died(pravega_config, make_stream, contents):
    stream = make_stream()

    done = subprocess.run(
        [sys.executable, _JOB, pravega_config.controller_uri, str(stream)], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.count("settings local[1] 7") == 2
    assert "The JVM of this process's Spark has died" in done.stderr
    assert contents(stream) == ["0", "1", "2"]


def test_managers_with_different_settings_are_refused_if_none_is_named():
    use("local[1]", {})
    use("local[2]", {"spark.ui.enabled": "false"})
    use("sc://spark:15002/;token=hush", {})
    try:
        with pytest.raises(ConfigurationError, match=r"local\[1\].*local\[2\].*sc://.*Give them the same") as refused:
            spark_session()
        assert "hush" not in str(refused.value)
        assert spark_session("local[2]", {}) is not None
    finally:
        release("local[1]", {})
        release("local[2]", {"spark.ui.enabled": "false"})
        release("sc://spark:15002/;token=hush", {})


def test_a_warning_names_settings_that_the_running_session_lacks(spark, caplog):
    assert spark_session("spark://elsewhere:7077", {"spark.app.name": spark.conf.get("spark.app.name")}) is not None
    assert "with other values of spark.master than" in caplog.text

    assert spark_session(spark.conf.get("spark.master"), {"spark.hadoop.fs.s3a.secret.key": "hush"}) is not None
    assert "with other values of spark.hadoop.fs.s3a.secret.key than" in caplog.text
    assert "hush" not in caplog.text

"""The errors of a job where Spark is not installed; sessions themselves are in the tests of the schedulers."""

import sys

import pytest

from aiopravega.errors import ConfigurationError
from pravega_jobs.spark.session import LOCAL, lasting_session, session_for_block


@pytest.mark.parametrize("module", ["pyspark", "pyspark_pravega"])
def test_a_missing_module_is_named_with_the_extra_that_brings_it(monkeypatch, module):
    monkeypatch.setitem(sys.modules, module, None)

    with pytest.raises(ConfigurationError, match=rf"{module}.* not installed: pip install 'dagster-pravega\[spark\]'"):
        lasting_session("name", LOCAL, {}, package="dagster-pravega")


def test_spark_connect_needs_its_client_and_no_data_source(monkeypatch):
    monkeypatch.setitem(sys.modules, "grpc_status", None)
    monkeypatch.setitem(sys.modules, "pyspark_pravega", None)

    with (
        pytest.raises(ConfigurationError, match=r"grpc_status are not installed: pip install 'pyspark\[connect\]'"),
        session_for_block("name", "sc://host:15002", {}, package="any"),
    ):
        pass

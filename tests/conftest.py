"""What all tests share: Spark's Python, groups of tests for one process, no deadlines for generated examples."""

import os
import sys

import hypothesis
import pytest

# Spark takes whatever `python3` is on the path, unless it is told.
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)

# How long an example takes says nothing on a machine that runs a server and another test process beside it.
hypothesis.settings.register_profile("shared-machine", deadline=None)
hypothesis.settings.load_profile("shared-machine")

HOSTS = ("pyspark_pravega", "airflow_pravega", "dagster_pravega")


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the tests of one host in one process, where its JVM, its database and its imports are made once."""
    for item in items:
        host = next((host for host in HOSTS if host in item.path.parts), None)
        if host and item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(host))

"""What all tests share: Spark's Python, Airflow's home, groups of tests for one process, no deadlines for examples."""

import atexit
import os
import shutil
import sys
import tempfile

import hypothesis
import pytest

# Spark takes whatever `python3` is on the path, unless it is told.
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)

# Airflow reads its settings when it is first imported, in whichever test that is. Each process has its own database.
airflow_home = tempfile.mkdtemp(prefix="airflow-")
atexit.register(shutil.rmtree, airflow_home, ignore_errors=True)
os.environ |= {
    "AIRFLOW_HOME": airflow_home,
    "AIRFLOW__CORE__DAGS_FOLDER": f"{airflow_home}/dags",
    "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
    "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{airflow_home}/airflow.db",
}

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

"""What all tests share: Spark's Python, Airflow's home, groups of tests for one process, no deadlines for examples."""

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator

import hypothesis
import pytest
from example_dags import small_spark

# By default Spark takes the first `python3` on the path.
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
small_spark.use()

# Airflow reads its settings when it is first imported, in any test. Each process has its own database.
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

errors_outside: list[str] = []
HOSTS = ("pyspark_pravega", "airflow_pravega", "dagster_pravega")


# Cheap tests first, so that a mistake shows in a minute; then what takes longest, so that no process is left with it.
STAGES = ("unit", *HOSTS, "system", "faults")


def stage(item: pytest.Item) -> int:
    """When a test's turn comes."""
    folders = item.location[0].split("/")
    return next((number for number, part in enumerate(STAGES) if part in folders), len(STAGES))


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the tests of one host in one process, where its JVM, its database and its imports are made once."""
    items.sort(key=stage)
    for item in items:
        host = next((host for host in HOSTS if host in item.path.parts), None)
        if host and item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(host))


def pytest_internalerror(excrepr: object) -> None:
    """Keep an error outside of a test, which ends a run."""
    errors_outside.append(str(excrepr))


def pytest_unconfigure() -> None:
    """Say the first error outside of a test again: CI shows last lines, and the error of a worker is followed by
    another, which says nothing of the cause."""
    if errors_outside and "PYTEST_XDIST_WORKER" not in os.environ:
        print("The first error outside of a test:", *errors_outside[0].splitlines()[-40:], sep="\n", file=sys.stderr)


@pytest.fixture(scope="session")
def spark_connect_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Spark Connect server."""
    from tests.spark_connect import SparkConnect

    with SparkConnect(tmp_path_factory.mktemp("spark-connect")) as server:
        yield server.url

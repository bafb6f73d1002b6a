"""What all tests share: Spark's Python, Airflow's home, groups of tests for one process, no deadlines for examples."""

import atexit
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

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


CONNECT_SECONDS = 600
CONNECT_STARTED = re.compile(r"Spark Connect server started at: (\S+:\d+)")


@pytest.fixture(scope="session")
def spark_connect_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Spark Connect server from the jars of PySpark, in a process of its own."""
    import pyspark

    folder = tmp_path_factory.mktemp("spark-connect")
    home = Path(pyspark.__path__[0])
    settings = {
        "spark.connect.grpc.binding.port": "0",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }
    command = [str(home / "bin" / "spark-submit"), "--master", "local[2]"]
    command += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer"]
    command += [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    environment = os.environ | {"SPARK_HOME": str(home), "PYSPARK_PYTHON": sys.executable, "SPARK_CONNECT_MODE": "0"}
    log = folder / "connect.log"
    with log.open("wb") as output:
        server = subprocess.Popen(command, cwd=folder, env=environment, stdout=output, stderr=subprocess.STDOUT)
        try:
            url = f"sc://{_address(server, log)}"
            _ask(url)
            yield url
        finally:
            server.terminate()
            server.wait(CONNECT_SECONDS)


def _address(server: "subprocess.Popen[bytes]", log: Path) -> str:
    deadline = time.monotonic() + CONNECT_SECONDS
    while time.monotonic() < deadline and server.poll() is None:
        found = CONNECT_STARTED.search(log.read_text(encoding="utf-8", errors="replace"))
        if found:
            return found[1]
        time.sleep(0.1)
    raise AssertionError(f"Spark Connect did not start: {log.read_text(errors='replace')[-2000:]}")


def _ask(url: str) -> None:
    """Only a process of its own can ask: PySpark remembers in the environment that it has talked Spark Connect."""
    question = (
        f"from pyspark.sql import SparkSession; print(SparkSession.builder.remote({url!r}).getOrCreate().version)"
    )
    subprocess.run([sys.executable, "-c", question], check=True, timeout=CONNECT_SECONDS, capture_output=True)

"""Each distribution as its users get it: a wheel, in an empty environment, with what it asks for and no more.

The wheels are built from the archives of the sources, which are checked, too.
"""

import json
import re
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from packaging.metadata import Metadata
from uv import find_uv_bin

from aiopravega.commands.main import TOPICS

ROOT = Path(__file__).parents[2]
FOLDERS = ("aiopravega", "pravega_emulator", "pravega_jobs", "pyspark_pravega", "providers/pravega", "dagster_pravega")
HOSTS = {"apache-airflow", "apache-airflow-core", "apache-airflow-task-sdk", "dagster", "pyspark"}
# One process installs all of them: uv waits for its own cache anyhow.
LIMIT = 600  # seconds for one command
pytestmark = pytest.mark.xdist_group("wheels")

IMPORT_ALL = """
import importlib, pkgutil, sys
package = importlib.import_module(sys.argv[1])
for module in pkgutil.walk_packages(package.__path__, package.__name__ + ".", onerror=lambda name: None):
    if not module.name.startswith(tuple(sys.argv[2:])):
        importlib.import_module(module.name)
"""
ASK_THE_CLIENT_FOR_THE_EMULATOR = """
from aiopravega.errors import PravegaError
try:
    from aiopravega.emulator import PravegaEmulator
    print(PravegaEmulator.__module__)
except PravegaError as error:
    print(error)
"""
FIXTURES = ("pravega_emulator ", "pravega_config ", "pravega_emulator_secure ", "pravega_replay ", "pravega_durable ")
# What needs the extra `schema`, and says so, or the extras `arrow` and `json`.
OF_JSON = ("aiopravega.schema.json.document", "aiopravega.schema.json.inclusion")
OF_ARROW = (
    *(
        f"aiopravega.schema.{room}"
        for room in ("arrow", "avro.columns", "json.columns", "protobuf.columns", "open.blocks")
    ),
    "aiopravega.blocking.blocks",
)
OF_SPARK_IN_JOBS = tuple(
    f"pravega_jobs.merging.{module}" for module in ("change_frames", "row_frames", "snapshot_frames", "table_ghosts")
)
OF_ICEBERG_IN_JOBS = (
    "pravega_jobs.landing.iceberg_catalog",
    "pravega_jobs.landing.iceberg_partitions",
    "pravega_jobs.merging.engine.iceberg",
    "pravega_jobs.upkeep.iceberg",
)
OF_KAFKA_IN_JOBS = "pravega_jobs.kafka"
OF_ARROW_IN_JOBS = (
    *OF_ICEBERG_IN_JOBS,
    "pravega_jobs.error_rows",
    "pravega_jobs.refusals",
    "pravega_jobs.merging.",
    "pravega_jobs.landing.delta_partitions",
    "pravega_jobs.landing.splitting",
    "pravega_jobs.landing.local_rows",
    "pravega_jobs.landing.row_fit",
    "pravega_jobs.landing.write_errors",
    "pravega_jobs.landing.column_types",
    "pravega_jobs.landing.parquet_files",
    "pravega_jobs.decoding.",
    "pravega_jobs.tables",
    "pravega_jobs.debezium.changes",
    "pravega_jobs.frames",
    "pravega_jobs.late",
    "pravega_jobs.replays",
    "pravega_jobs.sandbox",
    "pravega_jobs.commands.",
)
OF_EXTRAS = ("aiopravega.schema.registry.http", *OF_ARROW, *OF_JSON)


def run(*command: str | Path, cwd: Path | None = None, **environment: str) -> str:
    """Run a command to its good end; returns what it printed."""
    done = subprocess.run(
        command,
        cwd=cwd,
        env=environment or None,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@dataclass(frozen=True)
class Environment:
    """A virtual environment, and which distributions were installed into it."""

    folder: Path
    wheels: Path

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    def install(self, *requirements: str) -> set[str]:
        """Install in the locked versions; returns the names of all that the environment then holds."""
        uv, lock = find_uv_bin(), ROOT / "requirements.lock"
        locked: list[str | Path] = [uv, "pip", "install", "--quiet", "--python", self.python]
        locked += ["--find-links", self.wheels, "--constraint", lock, *requirements]
        # From uv's cache if that is enough, so that these tests pass without a network once they have passed with one.
        if subprocess.run([*locked, "--offline"], capture_output=True, check=False, timeout=LIMIT).returncode != 0:
            run(*locked)
        listing = run(uv, "pip", "list", "--quiet", "--format", "json", "--python", self.python)
        return {entry["name"] for entry in json.loads(listing)}

    def python_runs(self, *arguments: str) -> str:
        """Run its Python in its own folder, knowing nothing of this repository or of the caller's settings."""
        home = str(self.folder)
        return run(self.python, "-I", *arguments, cwd=self.folder, PATH="/usr/bin:/bin", HOME=home, AIRFLOW_HOME=home)


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sources of each distribution and the wheel made of them."""
    folder = tmp_path_factory.mktemp("wheels")
    for project in FOLDERS:
        build(project, folder)
    return folder


def build(project: str, folder: Path) -> None:
    """Make an archive of the sources, and a wheel of that archive."""
    options = ("--quiet", "--no-build-isolation", "--python", sys.executable, "--out-dir", folder)
    run(find_uv_bin(), "build", *options, ROOT / project)


@pytest.fixture
def environment(tmp_path: Path, wheels: Path) -> Environment:
    """An empty environment of the Python that runs the tests."""
    run(find_uv_bin(), "venv", "--quiet", "--python", sys.executable, tmp_path / "venv")
    return Environment(tmp_path / "venv", wheels)


def test_make_builds_the_wheels_and_says_how_they_are_installed(wheels: Path, tmp_path: Path) -> None:
    said = run("make", "--no-print-directory", "wheels", f"WHEELS={tmp_path}", cwd=ROOT)

    assert f"pip install --find-links {tmp_path} " in said
    assert {made.name for made in tmp_path.glob("*.whl")} == {made.name for made in wheels.glob("*.whl")}
    for made in tmp_path.glob("*.whl"):
        assert made.read_bytes() == (wheels / made.name).read_bytes(), made.name


@pytest.mark.parametrize("project", FOLDERS)
def test_two_builds_are_the_same_bytes_and_have_what_an_index_shows(wheels: Path, tmp_path: Path, project: str) -> None:
    build(project, tmp_path)
    built = sorted(tmp_path.glob("*.whl")) + sorted(tmp_path.glob("*.tar.gz"))
    assert len(built) == 2
    for made in built:
        assert made.read_bytes() == (wheels / made.name).read_bytes(), made.name
    with zipfile.ZipFile(built[0]) as wheel:
        names = wheel.namelist()
        [of_metadata] = [name for name in names if name.endswith(".dist-info/METADATA")]
        metadata = Metadata.from_email(wheel.read(of_metadata))  # validated
        for name in ("LICENSE", "NOTICE"):
            [kept] = [each for each in names if each.endswith(f"/licenses/{name}")]
            assert wheel.read(kept) == (ROOT / name).read_bytes()
    with tarfile.open(built[1]) as sources:
        assert all(entry.isfile() for entry in sources)
        assert {"LICENSE", "NOTICE", "README.md", "pyproject.toml"} <= {entry.name.split("/")[1] for entry in sources}
    assert metadata.license_expression == "Apache-2.0"
    assert metadata.description_content_type == "text/markdown"
    assert metadata.classifiers
    assert "Typing :: Typed" in metadata.classifiers
    assert any(name.endswith("/py.typed") for name in names)
    # An index shows the page without the repository around it.
    assert metadata.description is not None
    assert re.findall(r"\]\((?!https://)[^)]*\)", metadata.description) == []


def test_the_client_brings_neither_a_host_nor_arrow_nor_a_server(environment: Environment) -> None:
    installed = environment.install("aiopravega")
    assert {"aiopravega", "grpcio", "protobuf", "pydantic", "mmh3"} <= installed
    assert not installed & (HOSTS | {"pyarrow", "pandas", "numpy", "pravega-emulator", "jgo", "pytest"})
    assert not (environment.folder / "bin" / "pravega-emulator").exists()
    environment.python_runs("-c", IMPORT_ALL, "aiopravega", *OF_EXTRAS)
    said = environment.python_runs("-c", ASK_THE_CLIENT_FOR_THE_EMULATOR)
    assert said.strip() == "PravegaEmulator is in a distribution of its own: pip install pravega-emulator"

    for topic in TOPICS:
        assert f"Usage: pravega {topic} " in run(environment.folder / "bin" / "pravega", topic, "--help")

    assert "pravega-emulator" in environment.install("pravega-emulator")
    assert environment.python_runs("-c", ASK_THE_CLIENT_FOR_THE_EMULATOR).strip() == "pravega_emulator.standalone"


def test_the_emulator_brings_the_client_and_neither_a_host_nor_pytest(environment: Environment) -> None:
    installed = environment.install("pravega-emulator")
    assert {"pravega-emulator", "aiopravega", "jgo", "cryptography"} <= installed
    assert not installed & (HOSTS | {"pyarrow", "pandas", "numpy", "pytest"})
    environment.python_runs("-c", IMPORT_ALL, "pravega_emulator", "pravega_emulator.pytest_plugin")
    assert "fetch" in run(environment.folder / "bin" / "pravega-emulator", "--help")

    # With pytest its fixtures are there, and disturb no test of those who do not use them.
    environment.install("pytest")
    (environment.folder / "test_of_a_user.py").write_text("def test_nothing_of_pravega():\n    assert True\n")
    assert "1 passed" in environment.python_runs("-m", "pytest", "-W", "error", "test_of_a_user.py")
    fixtures = environment.python_runs("-m", "pytest", "--fixtures", "-q")
    assert all(name in fixtures for name in FIXTURES)


def test_jobs_bring_the_client_and_neither_a_host_nor_tables(environment: Environment) -> None:
    installed = environment.install("pravega-jobs")
    assert {"pravega-jobs", "aiopravega"} <= installed
    assert not installed & (HOSTS | {"pyarrow", "pandas", "numpy", "deltalake", "pyiceberg", "pravega-emulator"})
    environment.python_runs("-c", IMPORT_ALL, "pravega_jobs", *OF_ARROW_IN_JOBS, OF_KAFKA_IN_JOBS)
    pravega = environment.folder / "bin" / "pravega"
    assert "whole" in run(pravega, "cuts", "--help")
    assert "Usage: pravega export " in run(pravega, "export", "--help")
    assert {"pyarrow", "deltalake", "duckdb"} <= environment.install("pravega-jobs[arrow,delta,sql]")
    assert run(pravega, "sql", "--help").startswith("Usage: pravega sql ")
    environment.python_runs("-c", IMPORT_ALL, "pravega_jobs", *OF_SPARK_IN_JOBS, *OF_ICEBERG_IN_JOBS, OF_KAFKA_IN_JOBS)
    assert "confluent-kafka" in environment.install("pravega-jobs[kafka]")
    environment.python_runs("-c", IMPORT_ALL, "pravega_jobs.kafka")


def test_spark_needs_neither_airflow_nor_dagster(environment: Environment) -> None:
    installed = environment.install("pyspark-pravega")
    assert {"aiopravega", "pravega-jobs", "pyspark-pravega", "pyspark", "pyarrow"} <= installed
    assert installed & HOSTS == {"pyspark"}
    environment.python_runs("-c", IMPORT_ALL, "pyspark_pravega")
    assert {"httpx", "ptars"} <= environment.install("pyspark-pravega[protobuf]")
    environment.python_runs("-c", IMPORT_ALL, "pyspark_pravega")
    environment.python_runs("-c", IMPORT_ALL, "aiopravega.schema", *OF_JSON)


def test_airflow_needs_neither_spark_nor_dagster(environment: Environment) -> None:
    installed = environment.install("airflow-provider-pravega")
    assert {"aiopravega", "pravega-jobs", "airflow-provider-pravega", "apache-airflow-core"} <= installed
    assert not installed & {"pyspark", "pyspark-pravega", "pyarrow", "dagster", "dagster-pravega"}
    submit = "airflow_pravega.operators.spark_submit"
    environment.python_runs("-c", IMPORT_ALL, "airflow_pravega", "airflow_pravega.lineage.facets", submit)
    information = environment.python_runs(
        "-c", "import airflow_pravega as p; print(p.get_provider_info()['package-name'])"
    )
    assert information.split()[-1] == "airflow-provider-pravega"
    assert {"pyspark", "pyspark-pravega"} <= environment.install("airflow-provider-pravega[spark]")
    assert "apache-airflow-providers-openlineage" in environment.install("airflow-provider-pravega[openlineage]")
    environment.python_runs("-c", IMPORT_ALL, "airflow_pravega", submit)
    assert "apache-airflow-providers-apache-spark" in environment.install("airflow-provider-pravega[spark-submit]")
    environment.python_runs("-c", IMPORT_ALL, "airflow_pravega")


def test_dagster_needs_neither_spark_nor_airflow(environment: Environment) -> None:
    installed = environment.install("dagster-pravega")
    assert {"aiopravega", "pravega-jobs", "dagster-pravega", "dagster"} <= installed
    assert installed & HOSTS == {"dagster"}
    assert not installed & {"pyspark-pravega", "pyarrow", "airflow-provider-pravega"}
    environment.python_runs("-c", IMPORT_ALL, "dagster_pravega", "dagster_pravega.tables")
    assert "pyarrow" in environment.install("dagster-pravega[arrow]")
    environment.python_runs("-c", IMPORT_ALL, "dagster_pravega")
    assert {"pyspark", "pyspark-pravega"} <= environment.install("dagster-pravega[spark]")

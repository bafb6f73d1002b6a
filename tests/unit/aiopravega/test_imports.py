"""What importing the client costs: processes that Spark starts, and `pravega --help`, wait for it."""

import subprocess
import sys

import pytest

import aiopravega
from aiopravega import schema

# Names that options have: of codecs, and of forms of JSON.
NAMES = {"registry", "registry.codecs", "json", "json.columns", "json.columns.forms"}
# What the processes of Spark have loaded before they load this source.
RUNNER = "pyspark.sql.streaming.python_streaming_source_runner"
PLANNER = "pyspark.sql.worker.plan_data_source_read"
WORKER = f"pyspark.worker, {PLANNER}"
HEAVY = {"asyncio", "grpc", "google.protobuf", "httpx", "numpy", "pyarrow", "pydantic"}


def loaded_by(statement: str) -> set[str]:
    """The modules that a fresh Python has loaded after a statement."""
    code = f"import sys; {statement}; print(*sys.modules)"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_the_package_alone_loads_nothing_heavy():
    assert not loaded_by("import aiopravega") & HEAVY


def test_cuts_and_errors_need_neither_a_network_nor_arrow():
    assert not loaded_by("from aiopravega import StreamCut, errors") & (HEAVY - {"asyncio"})


def test_help_of_the_command_loads_nothing_heavy():
    helped = "from aiopravega.commands.main import main\ntry: main(['--help'])\nexcept SystemExit: pass\nimport sys"
    code = f"{helped}; print('loaded:', *sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(done.stdout.split("loaded:")[1].split()) & HEAVY


@pytest.mark.parametrize("package", [aiopravega, schema], ids=lambda package: package.__name__)
def test_every_public_name_is_found_when_it_is_used(package):
    assert all(getattr(package, name) is not None for name in package.__all__)
    assert dir(package) == sorted(package.__all__)


@pytest.mark.parametrize(
    "statement",
    [
        "import pyspark_pravega.read.batch",
        "import pyspark_pravega.read.stream",
        "import pyspark_pravega.read.decoded",
        "import pyspark_pravega.write.batch",
        "import pyspark_pravega.write.stream",
        "from pravega_jobs.frames import read_arrow, scan_polars",
    ],
)
def test_formats_of_schemas_are_not_loaded_for_raw_events(statement):
    rooms = {name for name in loaded_by(statement) if name.startswith("aiopravega.schema")}
    frames = {"arrow", "arrow.arrays", "arrow.frames"}
    assert rooms <= {"aiopravega.schema"} | {f"aiopravega.schema.{each}" for each in (*frames, *NAMES)}


# The numbers are those of today with some room: who adds to a process sees it here, and may load it when it is used.
@pytest.mark.parametrize(
    ("before", "statement", "most"),
    [
        (RUNNER, "import pyspark_pravega.read.stream, pyspark_pravega.read.decoded", 375),
        (PLANNER, "import pyspark_pravega.read.batch, pyspark_pravega.read.decoded", 375),
        (WORKER, "import pyspark_pravega.read.batch, pyspark_pravega.read.task", 380),
        (WORKER, "import pyspark_pravega.write.batch", 375),
        ("sys", "import aiopravega", 45),
        ("sys", "import aiopravega.blocking", 465),
        ("sys", "from pravega_jobs.frames import read_arrow", 600),
    ],
    ids=["process of a query", "planner", "task that reads", "task that writes", "client", "blocking client", "frames"],
)
def test_a_process_loads_so_many_modules_at_most(before, statement, most):
    already = loaded_by(f"import {before}")
    assert len(loaded_by(f"import {before}; {statement}") - already) <= most


@pytest.mark.parametrize("module", ["read.batch", "read.stream", "read.decoded"])
def test_who_plans_a_read_of_raw_events_loads_nothing_that_makes_rows(module):
    loaded = loaded_by(f"import pyspark_pravega.{module}")
    assert not loaded & {"pyarrow.compute", "pyspark_pravega.read.task", "aiopravega.schema.arrow.frames", "pandas"}

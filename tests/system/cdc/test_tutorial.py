"""The tutorial from a table of PostgreSQL to one of Iceberg does what it says, with a real Debezium."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.system.airflow.postgres import Postgres, find_programs
from tests.system.cdc import needed
from tests.system.servers import free_ports
from tests.system.test_tutorials import FOLDER, commands

from pravega_emulator import PravegaEmulator

LIMIT = 1500  # seconds, on a machine five times slower


@pytest.mark.slow
@pytest.mark.timeout(LIMIT + 100)
def test_the_tutorial_keeps_a_table_of_a_database(tmp_path: Path) -> None:
    why = needed.missing("postgresql")
    if why is not None:
        pytest.skip(why)
    (tmp_path / ".venv").symlink_to(sys.prefix)
    settings = {"wal_level": "logical", "synchronous_commit": "on"}
    with PravegaEmulator() as pravega, Postgres(free_ports(1)[0], tmp_path / "postgres.log", settings) as database:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW")}
        environment |= {
            "PATH": f"{find_programs()}{os.pathsep}{environment['PATH']}",
            "PGHOST": "127.0.0.1",
            "PGPORT": str(database.port),
            "PGDATABASE": "postgres",
            "PGUSER": "airflow",
            "PGPASSWORD": "airflow",
            "DEBEZIUM_HOME": str(needed.debezium()),
            "DEBEZIUM_JAVA": str(needed.java()),
            "PRAVEGA_CONTROLLER_URI": pravega.config.controller_uri,
        }
        page = (FOLDER / "first-table.md").read_text(encoding="utf-8")
        script = f"trap 'kill -9 $DEBEZIUM || true' EXIT\n{commands(page)}"
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=tmp_path,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "\n96\n" in done.stdout
    assert "'note': 'mended'" in done.stdout
    assert "'note': 'new'" in done.stdout

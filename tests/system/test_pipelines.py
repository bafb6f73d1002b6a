"""The declarative pipeline of the examples: Spark's own command runs it on a real stream, twice."""

import os
import shutil
import subprocess
import sys
import uuid
from pathlib import Path

import pyarrow.dataset as ds
import pytest
from tests.integration.pyspark_pravega.debezium_events import made

from aiopravega.blocking import PravegaClient

EXAMPLE = Path(__file__).parents[2] / "example_dags" / "pipelines"
LIMIT = 1200  # seconds; each run starts two JVMs

pytestmark = [pytest.mark.slow, pytest.mark.timeout(2 * LIMIT + 100), pytest.mark.xdist_group("pyspark_pravega")]


def test_a_pipeline_keeps_changes_and_the_table(pravega_config, tmp_path):
    scope = f"shop-{uuid.uuid4().hex}"
    folder = tmp_path / "pipeline"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    for file, old, new in (
        ("spark-pipeline.yml", "file:///tmp/orders-pipeline", (tmp_path / "storage").as_uri()),
        ("transformations/orders.py", "examples/", f"{scope}/"),
    ):
        text = (folder / file).read_text()
        assert old in text
        (folder / file).write_text(text.replace(old, new))

    def write(*events):
        with PravegaClient(pravega_config) as client, client.writer(f"{scope}/inv.public.orders") as writer:
            writer.write_many(*map(list, zip(*events, strict=True)))

    def run():
        done = subprocess.run(
            [Path(sys.executable).with_name("spark-pipelines"), "run"],
            cwd=folder,
            env={
                **os.environ,
                "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
                "PRAVEGA_CONTROLLER_URI": pravega_config.controller_uri,
                "SPARK_CONF_DIR": str(folder / "conf"),
                "SPARK_LOCAL_IP": "127.0.0.1",
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def table(name):
        return ds.dataset(folder / "spark-warehouse" / name).to_table().sort_by("id").to_pylist()

    with PravegaClient(pravega_config) as client:
        client.create_scope(scope)
        client.create_stream(f"{scope}/inv.public.orders")
    write(*(made("c", number, id=number, customer=number, price="A+c=") for number in range(10)))
    run()
    assert [row["customer"] for row in table("orders")] == list(range(10))

    write(made("u", 20, id=3, customer=33, price="A+c="), made("d", 21, id=4))
    run()

    assert len(table("orders_changes")) == 12  # none again
    assert {row["id"]: row["customer"] for row in table("orders")} == {
        number: 33 if number == 3 else number for number in range(10) if number != 4
    }

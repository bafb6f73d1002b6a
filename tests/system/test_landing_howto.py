"""The how-to page about landing: its Python runs, as one program, against a real server and a real Spark."""

import os
import re
import subprocess
import sys
import uuid
from pathlib import Path

import pytest
from tests.pages.blocks import PAGES, program_of

from aiopravega.blocking import PravegaClient

# Beside the tests that have a Spark of their own, a third one at a time would be too much for a small machine.
pytestmark = [pytest.mark.timeout(1300), pytest.mark.xdist_group("pyspark_pravega")]

LIMIT = 1200  # seconds; it starts Spark


def test_the_page_lands_a_range_and_lands_it_again(pravega_config, tmp_path):
    scope = f"shop-{uuid.uuid4().hex}"
    with PravegaClient(pravega_config) as client:
        client.create_scope(scope)
        client.create_stream(f"{scope}/orders")
        with client.writer(f"{scope}/orders") as writer:
            writer.write_many([b'{"id":%d,"price":0.25}' % number for number in range(10)], ["key"] * 10)

    def renamed(text: str) -> str:
        return text.replace('"shop"', f'"{scope}"').replace("shop/", f"{scope}/").replace("/tmp/lake", str(tmp_path))

    script = tmp_path / "land.py"
    script.write_text(renamed(program_of("land-tables")))
    environment = {**os.environ, "PRAVEGA_CONTROLLER_URI": pravega_config.controller_uri}

    def run(*command):
        done = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    printed = run(sys.executable, script)
    assert "append 10\nnothing\nreplace 10\nlake 2026-01-05 2 10 " in printed
    [command] = re.findall(rf"`pravega (cuts verify {scope}/[^`]+)`", renamed(PAGES["land-tables"].read_text()))
    assert "no gap, no overlap" in run(Path(sys.executable).with_name("pravega"), *command.split())

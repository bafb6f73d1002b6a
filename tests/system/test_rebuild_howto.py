"""The how-to page about intervals that are written again: its Python runs, as one program, against a real server."""

import os
import re
import subprocess
import sys

import pytest
from tests.pages.blocks import program_of

from aiopravega.blocking import PravegaClient

# Beside the tests that have a Spark of their own, a third one at a time would be too much for a small machine.
pytestmark = [pytest.mark.timeout(1300), pytest.mark.xdist_group("pyspark_pravega")]

LIMIT = 1200  # seconds; it starts Spark


def test_the_page_writes_an_interval_anew_and_reads_the_newest_rows(pravega_config, tmp_path):
    script = tmp_path / "totals.py"
    script.write_text(program_of("rebuild-an-interval"))

    done = subprocess.run(
        [sys.executable, script],
        env={**os.environ, "PRAVEGA_CONTROLLER_URI": pravega_config.controller_uri},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "totals/1: generation 2, 10 events" in done.stdout
    printed = {line for line in done.stdout.splitlines() if re.fullmatch(r"\d+: \d+", line)}
    prices = {range(10, 20): 4, range(20, 30): 3}
    assert printed == {f"{order}: {order * price}" for orders, price in prices.items() for order in orders}
    with PravegaClient(pravega_config) as client:
        assert len(client.written("shop/totals", "totals/1")) == 2

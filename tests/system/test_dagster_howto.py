"""The how-to pages for Dagster do what they say: the Python of each runs, as a program, against a real server."""

import os
import subprocess
import sys

import pytest
from tests.pages.blocks import program_of

from aiopravega import ScalingPolicy, StreamCut, StreamCutRange, StreamName
from aiopravega.blocking import PravegaClient

# Beside the tests that have a Spark of their own, a third one at a time would be too much for a small machine.
pytestmark = [pytest.mark.timeout(1300), pytest.mark.xdist_group("dagster_pravega")]

PAGES = (
    "dagster",
    "dagster-arrow",
    "dagster-automation",
    "dagster-checks",
    "dagster-elsewhere",
    "dagster-pages",
    "dagster-partitions",
    "dagster-services",
    "dagster-tables",
)
# Each page in a namespace of its own, all in one process: they share a session of Spark.
PROGRAM = """
import runpy
import sys

for page in sys.argv[1:]:
    runpy.run_path(page, run_name="__main__")
"""
SCOPE = "shop"  # as on the page
LIMIT = 1200  # seconds; it starts Dagster and Spark


def test_the_pages_read_ranges_and_write_streams(pravega_config, tmp_path):
    visits, squares = StreamName(SCOPE, "visits"), StreamName(SCOPE, "squares")
    script = tmp_path / "all_pages.py"
    script.write_text(PROGRAM)
    files = [tmp_path / f"page_{page.replace('-', '_')}.py" for page in PAGES]
    for page, file in zip(PAGES, files, strict=True):
        file.write_text(program_of(page))
    with PravegaClient(pravega_config) as client:
        client.create_scope(SCOPE)
        client.create_stream(f"{SCOPE}/visits", ScalingPolicy.fixed(2))
        client.create_stream(f"{SCOPE}/squares")
        client.create_stream(f"{SCOPE}/pages")
        with client.writer(f"{SCOPE}/visits") as writer:
            writer.write_many([b"a visit"] * 10)
        total = len(list(client.read(StreamCutRange(StreamCut.unbounded(), StreamCut.unbounded()), visits)))
        before = client.tail(f"{SCOPE}/squares")

        done = subprocess.run(
            [sys.executable, script, *files],
            env={**os.environ, "PRAVEGA_CONTROLLER_URI": pravega_config.controller_uri},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )

        assert done.returncode == 0, done.stdout + done.stderr
        assert f"AssetKey(['visits_per_segment']) {total}" in done.stdout
        assert "AssetKey(['squares']) 100" in done.stdout
        assert f"AssetKey(['pages']) {total}" in done.stdout
        assert f"AssetKey(['visits_counted']) {total}" in done.stdout
        written = client.read(StreamCutRange(before, client.tail(f"{SCOPE}/squares")), squares)
        assert sorted(int(event.data) for event in written) == [number**2 for number in range(100)]

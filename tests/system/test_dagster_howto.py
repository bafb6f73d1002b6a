"""The how-to page for Dagster does what it says: its Python runs, as one program, against a real server."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from aiopravega import ScalingPolicy, StreamCut, StreamCutRange, StreamName
from aiopravega.blocking import PravegaClient

# Beside the tests that have a Spark of their own, a third one at a time would be too much for a small machine.
pytestmark = [pytest.mark.timeout(1300), pytest.mark.xdist_group("dagster_pravega")]

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "dagster.md"
SCOPE = "shop"  # as on the page
LIMIT = 1200  # seconds; it starts Dagster and Spark


def test_the_page_reads_a_range_and_writes_a_stream(pravega_config, tmp_path):
    visits, squares = StreamName(SCOPE, "visits"), StreamName(SCOPE, "squares")
    script = tmp_path / "definitions.py"
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), flags=re.MULTILINE | re.DOTALL)
    script.write_text("\n".join(blocks))
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
            [sys.executable, script],
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
        written = client.read(StreamCutRange(before, client.tail(f"{SCOPE}/squares")), squares)
        assert sorted(int(event.data) for event in written) == [number**2 for number in range(100)]

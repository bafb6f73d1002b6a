"""The page about other engines, block by block: `make engines` installs them into an environment of its own."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.pages.blocks import block_with

from aiopravega.blocking import PravegaClient
from aiopravega.config import PravegaConfig

pytestmark = pytest.mark.slow
FLIGHTS = [(1, "AA", 5.0), (2, "AA", 7.0), (3, "UA", 1.0)]


@pytest.fixture(autouse=True)
def flights(pravega_config: PravegaConfig, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The stream of the page, and a folder for what the engines store."""
    monkeypatch.setenv("PRAVEGA_CONTROLLER_URI", str(pravega_config.controller_uri))
    monkeypatch.chdir(tmp_path)
    with PravegaClient(pravega_config) as client:
        client.create_scope("examples")
        if client.create_stream("examples/flights"):
            with client.writer("examples/flights") as writer:
                for number, carrier, delay in FLIGHTS:
                    event = {"id": number, "carrier": carrier, "delay": delay}
                    writer.write(json.dumps(event).encode(), routing_key=carrier)


def run(engine: str) -> dict[str, Any]:
    """Run the block of an engine; its names."""
    pytest.importorskip(engine, reason=f"{engine} is not installed: make engines")
    block = block_with("other-engines", f"import {engine}\n")
    names: dict[str, Any] = {}
    exec(compile(block.code, f"<{block.name}>", "exec"), names)
    return names


def test_ray_takes_the_batches_of_a_range(capsys):
    run("ray")
    assert "[{'carrier': 'AA', 'mean(delay)': 6.0}, {'carrier': 'UA', 'mean(delay)': 1.0}]" in capsys.readouterr().out


def test_daft_takes_the_batches_of_a_range(capsys):
    run("daft")
    assert "{'carrier': ['AA', 'UA'], 'delay': [7.0, 1.0]}" in capsys.readouterr().out


def test_dlt_loads_a_range_and_again_without_doubles():
    for _ in range(2):
        names = run("dlt")
        with names["pipeline"].sql_client() as sql, sql.execute_query("select id, carrier, delay from flights") as rows:
            assert sorted(rows.fetchall()) == FLIGHTS

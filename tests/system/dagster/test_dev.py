"""`dagster dev` in the project's environment: each file of the examples is a code location, and a run works."""

import os
import sys
from pathlib import Path

import pytest
from tests.faults.process import ROOT
from tests.system.dagster.graphql import GraphQL
from tests.system.servers import free_ports, start_server

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800), pytest.mark.xdist_group("dagster_processes")]

EXAMPLES = [path for path in sorted((ROOT / "example_dags" / "dagster").glob("*.py")) if not path.stem.endswith("_job")]
SCOPE = "dagster-dev"


def test_the_examples_are_code_locations_and_a_run_of_one_works(pravega_config, make_streams, tmp_path):
    write = make_streams(SCOPE, "flights", "delays")
    write('{"departure": "2013-01-01T05:17:00", "carrier": "UA", "flight": 1545, "origin": "EWR", "dest": "IAH"}')
    [port] = free_ports(1)
    home = tmp_path / "home"
    home.mkdir()
    (home / "dagster.yaml").write_text("telemetry:\n  enabled: false\n")
    environment = os.environ | {
        "PYTHONPATH": str(ROOT),
        "DAGSTER_HOME": str(home),
        "PRAVEGA_CONTROLLER_URI": pravega_config.controller_uri,
        "FLIGHTS_STREAM": f"{SCOPE}/flights",
        "DELAYS_STREAM": f"{SCOPE}/delays",
    }
    files = [word for path in EXAMPLES for word in ("-f", path)]
    command = [Path(sys.executable).with_name("dagster"), "dev", "-p", str(port), *files]
    server = start_server(command, tmp_path / "dev.log", environment)
    graphql = GraphQL(port, str(tmp_path))
    try:
        graphql.wait(lambda: server.process.poll() is None and graphql.answers(), "the webserver answers")
        for path in EXAMPLES:
            graphql.wait(lambda name=path.name: graphql.location_is_loaded(name), f"{path.name} is loaded")
        config = {"resources": {"folder": {"config": {"path": str(tmp_path / "flights")}}}}
        run = graphql.launch("flights_delays.py", "__ASSET_JOB", config, assets=["flights_files"])
        graphql.wait_for_run(run)
        [event] = graphql.materializations("flights_files")
        assert event["metadata"]["pravega/events"] == 1
        assert event["metadata"]["pravega/whole_stream"] is True
        said = server.said()
        assert "Serving dagster-webserver" in said
        assert not [line for line in said.splitlines() if "fork" in line.lower()]
    finally:
        graphql.close()
        server.kill()

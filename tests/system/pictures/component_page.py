"""The picture of a component's page: a project of one YAML file, in Dagster's webserver. It asks no cluster."""

import os
import sys
import tempfile
from pathlib import Path
from typing import Final

from tests.faults.process import ROOT
from tests.system.dagster.graphql import GraphQL
from tests.system.pictures.browser import Browser
from tests.system.servers import free_ports, start_server

PICTURE: Final = ROOT / "docs" / "how-to" / "dagster-component.png"
COMPONENT: Final = "dagster_pravega.PravegaStreamComponent"
PAGE: Final = f"/locations/rides.definitions/docs/packages/dagster_pravega/{COMPONENT}"
FILES: Final = {
    "pyproject.toml": '[project]\nname = "rides"\nversion = "0.1.0"\n'
    '[tool.dg]\ndirectory_type = "project"\n[tool.dg.project]\nroot_module = "rides"\n',
    "src/rides/__init__.py": "",
    "src/rides/definitions.py": """\
from pathlib import Path

from dagster import definitions, load_from_defs_folder


@definitions
def defs():
    return load_from_defs_folder(path_within_project=Path(__file__).parent)
""",
    "src/rides/defs/streams/defs.yaml": f"""\
type: {COMPONENT}
attributes:
  connection: {{}}
  streams:
    - stream: shop/visits
      observe_cron: "*/5 * * * *"
""",
}


def take() -> None:
    """Start the webserver, and take the picture."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path, text in FILES.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        [port] = free_ports(1)
        (folder / "home").mkdir()
        environment = os.environ | {"DAGSTER_HOME": str(folder / "home"), "DAGSTER_DISABLE_TELEMETRY": "1"}
        environment["PYTHONPATH"] = str(folder / "src")
        program = str(Path(sys.executable).with_name("dagster-webserver"))
        command = [program, "-m", "rides.definitions", "-h", "127.0.0.1", "-p", str(port)]
        server = start_server(command, folder / "webserver.log", environment)
        graphql = GraphQL(port, str(folder))
        try:
            graphql.wait(graphql.answers, "the webserver answers")
            graphql.wait(lambda: graphql.location_is_loaded("rides.definitions"), "the project is loaded")
            graphql.ask("mutation { setNuxSeen }")  # else an invitation covers the page
            with Browser() as browser:
                browser.open(graphql.url + PAGE)
                browser.see("//*[text()='Scaffolding']")
                browser.picture(PICTURE)
        finally:
            graphql.close()
            server.kill()

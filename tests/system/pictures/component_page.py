"""The picture of a component's page: a project of one YAML file, as Dagster's webserver shows it. It asks no cluster.

python -m tests.system.pictures.component_page
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from tests.faults.process import ROOT
from tests.system.dagster.graphql import GraphQL
from tests.system.servers import free_ports, start_server

PICTURE: Final = ROOT / "docs" / "how-to" / "dagster-component.png"
COMPONENT: Final = "dagster_pravega.PravegaStreamComponent"
PAGE: Final = f"/locations/rides.definitions/docs/packages/dagster_pravega/{COMPONENT}"
PATIENCE_MS: Final = 30_000
LIMIT: Final = 300  # seconds for the picture
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


def main() -> None:
    """Start the webserver, and take the picture."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        raise SystemExit("there is no Chromium on the path: install the package chromium")
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
            flags = ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars")
            window = ("--window-size=1400,900", f"--virtual-time-budget={PATIENCE_MS}", f"--screenshot={PICTURE}")
            profile = f"--user-data-dir={folder / 'profile'}"
            subprocess.run(
                [browser, *flags, profile, *window, graphql.url + PAGE], check=True, capture_output=True, timeout=LIMIT
            )
        finally:
            graphql.close()
            server.kill()
    print(PICTURE)


if __name__ == "__main__":
    main()

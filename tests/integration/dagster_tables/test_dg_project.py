"""A project that Dagster's own commands have made runs from YAML alone: no network, no line of Python."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]  # it comes with Dagster, without types

from aiopravega import ScalingPolicy
from aiopravega.blocking import PravegaClient

# Ten commands of Dagster, each of which imports all of it.
pytestmark = pytest.mark.timeout(1800)

PROGRAMS = Path(sys.executable).parent
COMPONENTS = {f"dagster_pravega.Pravega{kind}Component" for kind in ("Cdc", "KeptTable", "Scope", "Stream")}
LIMIT = 300  # seconds for one command, on a machine that does other work
NOWHERE = "http://127.0.0.1:9"


@pytest.fixture
def dg(tmp_path: Path, pravega_config) -> Callable[..., str]:
    """Runs a command of Dagster in the folder of the project `rides`; gives what it has printed."""
    project, settings = tmp_path / "rides", tmp_path / "settings.toml"
    settings.write_text('[cli]\nsuppress_warnings = ["create_dagster_outdated"]\n[cli.telemetry]\nenabled = false\n')
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("DAGSTER_", "DG_"))},
        "PATH": f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}",
        "VIRTUAL_ENV": sys.prefix,
        "PYTHONPATH": os.pathsep.join(filter(None, (str(project / "src"), os.environ.get("PYTHONPATH")))),
        "DG_CLI_CONFIG": str(settings),
        "DAGSTER_DISABLE_TELEMETRY": "1",
        "HOME": str(tmp_path),
        "PRAVEGA_CONTROLLER_URI": pravega_config.controller_uri,
        # What asks for a network gets an error at once.
        **dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), NOWHERE),
        "no_proxy": "127.0.0.1,localhost",
        "UV_OFFLINE": "1",
    }

    def run(program: str, *words: str, status: int = 0) -> str:
        done = subprocess.run(
            [PROGRAMS / program, *words],
            cwd=project if project.exists() else tmp_path,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
        assert done.returncode == status, f"{program} {words}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    return run


def test_a_project_that_dg_has_made_runs_from_yaml_alone(dg, client: PravegaClient, scope: str, tmp_path: Path):
    for stream in ("rides", "visits"):
        assert client.create_stream(f"{scope}/{stream}", ScalingPolicy.fixed(1))
    with client.writer(f"{scope}/rides") as writer:
        writer.write_many([b"a ride"] * 5)

    dg("create-dagster", "project", "--no-uv-sync", "rides")
    listed = json.loads(dg("dg", "list", "components", "--package", "dagster_pravega", "--json"))
    assert {item["key"] for item in listed["items"]} == COMPONENTS
    folder = tmp_path / "rides" / "src" / "rides" / "defs"
    for name, component in (("streams", "PravegaStreamComponent"), ("scope", "PravegaScopeComponent")):
        dg("dg", "scaffold", "defs", f"dagster_pravega.{component}", name)
    files = {name: folder / name / "defs.yaml" for name in ("streams", "scope")}
    streams, whole = (yaml.safe_load(files[name].read_text()) for name in files)
    assert streams["attributes"].pop("streams") == [{"stream": "examples/orders", "group_name": "pravega"}]
    assert whole["attributes"].pop("scope") == "examples"
    assert streams["attributes"] == whole["attributes"] == {"connection": {}}
    rides = {"stream": f"{scope}/rides", "observe": True, "lag_checks": [{"consumer": "pages", "error_bytes": 1_000}]}
    streams["attributes"]["streams"] = [rides]
    whole["attributes"] |= {"scope": scope, "key_prefix": ["all"]}
    files["streams"].write_text(yaml.safe_dump(streams))
    files["scope"].write_text(yaml.safe_dump(whole))

    wrong = {**rides, "observe_cron": "* * *", "lag_checks": [{"consumer": "pages", "error_after": "soon"}]}
    connection = {"controler_uri": "tcp://there:9090", "password": "hush"}
    files["streams"].write_text(
        yaml.safe_dump({**streams, "attributes": {"streams": [wrong], "connection": connection}})
    )
    said = dg("dg", "check", "yaml", status=1)
    for message in ("a schedule of cron", "a length of time", "'controler_uri', 'password' were unexpected"):
        assert message in said
    assert "controler_uri" in dg("dg", "check", "defs", status=1)
    files["streams"].write_text(yaml.safe_dump(streams))

    dg("dg", "check", "yaml")
    dg("dg", "utils", "refresh-defs-state")
    dg("dg", "check", "defs")
    found = json.loads(dg("dg", "list", "defs", "--json"))
    assert {asset["asset_key"] for asset in found["assets"]} == {
        f"{scope}/rides",
        *(f"all/{scope}/{stream}" for stream in ("rides", "visits")),
    }
    dg("dg", "launch", "--assets", f'key:"{scope}/rides"')

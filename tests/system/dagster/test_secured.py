"""A cluster with TLS and accounts: runs work, what is refused says so at once, and no password shows anywhere."""

import os
import tempfile
from pathlib import Path

import pytest
from tests.system.canaries import canaries, command_lines_watched, files_with, has
from tests.system.dagster.components import DAEMON, WEBSERVER, Components
from tests.system.dagster.pages import shown
from tests.system.dagster.stored import stored_texts

from aiopravega import ScalingPolicy, StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.blocking.registry import SchemaRegistry
from aiopravega.schema import RegistryConfig, SchemaFormat, SchemaInfo
from aiopravega.schema.open import register_schema

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600), pytest.mark.xdist_group("dagster_processes")]

LOCATION, SCOPE, JOB = "secured", "dagster-secured", "__ASSET_JOB"
STREAMS = ("rides", "louder", "written", "typed", "typed-by-spark")
NUMBERS = '{"type": "record", "name": "Number", "fields": [{"name": "id", "type": "long"}]}'
WRONG = "canary-of-a-wrong-password"
RIDES = [f"ride {number}" for number in range(10)]


@pytest.fixture
def client(pravega_emulator_secure):
    """A client of the cluster, whose streams and schemas it has made."""
    config = pravega_emulator_secure.config
    registry_config = RegistryConfig.beside(config, pravega_emulator_secure.schema_registry_uri)
    with PravegaClient(config) as owner, SchemaRegistry(registry_config) as registry:
        assert owner.create_scope(SCOPE)
        for stream in STREAMS:
            assert owner.create_stream(f"{SCOPE}/{stream}", ScalingPolicy.fixed(2))
        for stream in ("typed", "typed-by-spark"):
            schema = SchemaInfo.of(SchemaFormat.AVRO, "Number", NUMBERS)
            registry.run(register_schema(registry.asynchronous, StreamName(SCOPE, stream), schema))
        yield owner


@pytest.fixture
def temporary():
    """The folder of all temporary files. Sockets are in it, whose paths must be short."""
    with tempfile.TemporaryDirectory(prefix="dagster-") as name:
        (folder := Path(name)).joinpath("of-the-test").touch()  # programs may leave nothing
        yield folder


@pytest.fixture
def passwords(pravega_emulator_secure):
    """The passwords, by the variables of the environment that the code server has them in."""
    of = {account.name: account.password for account in pravega_emulator_secure.accounts}
    owner = pravega_emulator_secure.accounts[0].name
    return {"OWNER_PASSWORD": of[owner], "READER_PASSWORD": of["reader"], "WRONG": WRONG}


@pytest.fixture
def secrets(pravega_emulator_secure, passwords):
    owner = pravega_emulator_secure.accounts[0].name
    reader, wrong = canaries({"reader": passwords["READER_PASSWORD"]}), canaries({owner: WRONG})
    return canaries({owner: passwords["OWNER_PASSWORD"]}) + reader + wrong


@pytest.fixture
def dagster(pravega_emulator_secure, tmp_path, temporary, passwords):
    """Dagster's processes, of which the code server alone has passwords."""
    server = pravega_emulator_secure
    environment = {
        "PRAVEGA_CONTROLLER_URI": server.controller_uri,
        "PRAVEGA_SCHEMA_REGISTRY_URI": server.schema_registry_uri,
        "PRAVEGA_CA_FILE": str(server.ca_file),
        "OWNER": server.accounts[0].name,
        "TMPDIR": str(temporary),
        "SPARK_LOCAL_DIRS": str(temporary / "spark"),
        "JAVA_TOOL_OPTIONS": f"-Djava.io.tmpdir={temporary}",
    }
    locations = {LOCATION: Path(__file__).with_name("secured.py")}
    with Components(tmp_path, locations, environment, of_locations=passwords) as components:
        yield components


def test_runs_work_and_no_password_shows(client, dagster, contents, tmp_path, temporary, secrets):
    graphql, gate, waiting = dagster.graphql, dagster.home / "gate", dagster.home / "waiting"
    launched = {
        "username": os.fsdecode(_variable(dagster, "OWNER")),
        "password": {"env": "OWNER_PASSWORD"},
        "ca_file": os.fsdecode(_variable(dagster, "PRAVEGA_CA_FILE")),
    }

    def launch(*assets):
        return graphql.launch(LOCATION, JOB, {}, assets=assets)

    def metadata(asset):
        [event] = graphql.materializations(asset)
        return event["metadata"]

    with command_lines_watched(secrets) as lines:
        gate.touch()
        with client.writer(f"{SCOPE}/rides") as writer:
            writer.write_many([ride.encode() for ride in RIDES], RIDES)
        graphql.start_sensor(LOCATION, "ranges")
        graphql.start_sensor(LOCATION, "wrong_ranges")
        graphql.wait(waiting.exists, "Spark is at work")
        amid = _files_with(secrets, tmp_path, temporary)
        stored_amid = stored_texts(dagster.home)
        gate.unlink()
        graphql.wait(lambda: contents(SCOPE, "louder") == sorted(ride.upper() for ride in RIDES), "rides are copied")
        good = [
            launch("typed", "typed_by_spark", "total"),
            launch("elsewhere"),
            launch("read_only"),
            graphql.launch(LOCATION, "from_launchpad_job", {"resources": {"launched": {"config": launched}}}),
        ]
        refused = {name: launch(name) for name in ("may_not_write", "wrong_password", "wrong_client")}
        for run in good:
            graphql.wait_for_run(run)
        for run in refused.values():
            graphql.wait_for_run(run, "FAILURE")
        graphql.wait(lambda: _failed_ticks(graphql), "a tick has failed")
        pages = shown(graphql, LOCATION, JOB, ["ranges", "wrong_ranges"]).encode()

    assert metadata("total")["total"] == 12
    assert metadata("elsewhere")["counted"] == metadata("read_only")["events"] == len(RIDES)
    assert metadata("from_launchpad")["bytes"] > 0
    for name, error in {
        "may_not_write": "PermissionDeniedError",
        "wrong_password": "AuthenticationError",
        "wrong_client": "AuthenticationError",
    }.items():
        said = graphql.messages(refused[name])
        assert any(error in message for message in said), said
        assert not any("ExecutionStepUpForRetryEvent" in message for message in said), said
    [tick, *_] = _failed_ticks(graphql)
    assert any("AuthenticationError" in cause["message"] for cause in tick["error"]["causes"]), tick

    # What is looked for is there where it has to be, and found; where it must not be, its variable's name is.
    lines.read()
    assert any(b"org.apache.spark.deploy.SparkSubmit" in line for line in lines.seen)
    assert has(secrets, _environment(dagster, LOCATION))
    stored = stored_texts(dagster.home)
    assert all(name in text for name in (b"OWNER_PASSWORD", b"READER_PASSWORD") for text in (stored, pages))
    assert b"READER_PASSWORD" in stored_amid
    assert b"Physical Plan" in pages
    texts = {
        "databases in the middle": stored_amid,
        "databases": stored,
        "pages": pages,
        "environment of the webserver": _environment(dagster, WEBSERVER),
        "environment of the daemon": _environment(dagster, DAEMON),
    }
    assert [name for name, text in texts.items() if has(secrets, text)] == []
    assert amid == []
    assert _files_with(secrets, tmp_path, temporary) == []
    assert lines.with_secret == set()


def _files_with(secrets, *folders):
    return [path for folder in folders for path in files_with(secrets, folder)]


def _environment(dagster, name):
    """The variables of a process and of all that it has started."""
    return b"\n".join(Path(f"/proc/{pid}/environ").read_bytes() for pid in dagster.pids(name))


def _variable(dagster, name):
    found = dict(line.split(b"=", 1) for line in _environment(dagster, LOCATION).split(b"\0") if b"=" in line)
    return found[name.encode()]


def _failed_ticks(graphql):
    return [tick for tick in graphql.ticks(LOCATION, "wrong_ranges") if tick["status"] == "FAILURE"]

"""The embedded Pravega: ready when it says so, alone on its ports, gone when it should be, clear when it fails."""

import json
import os
import subprocess
import sys
import urllib.request
import uuid
from pathlib import Path
from typing import Any

import pytest

from aiopravega import PravegaClient, PravegaConfig, StreamCutRange, StreamName
from aiopravega.errors import ConfigurationError, EmulatorError, PravegaConnectionError
from pravega_emulator import PravegaEmulator, lifecycle

pytestmark = [pytest.mark.timeout(1500), pytest.mark.xdist_group("emulator-standalone")]  # servers start


def small(**more: Any) -> PravegaEmulator:
    return PravegaEmulator(cache_megabytes=128, heap_megabytes=512, **more)


@pytest.fixture(scope="module")
def emulator(tmp_path_factory):
    settings = {"controller.transaction.lease.count.max": "20000"}
    with small(schema_registry=True, data=tmp_path_factory.mktemp("data"), settings=settings) as running:
        yield running


async def written_and_read(config: PravegaConfig) -> list[bytes]:
    """What is read of two events in a new stream of a new scope."""
    scope = f"s{uuid.uuid4().hex}"
    async with PravegaClient(config) as client:
        await client.create_scope(scope)
        await client.create_stream(f"{scope}/stream")
        async with client.writer(f"{scope}/stream") as writer:
            await writer.write(b"one", routing_key="key")
            await writer.write(b"two", routing_key="key")
        everything = StreamCutRange(await client.head(f"{scope}/stream"), await client.tail(f"{scope}/stream"))
        return [event.data async for event in client.read(everything)]


async def test_when_it_has_started_everything_works(emulator):
    assert await written_and_read(emulator.config) == [b"one", b"two"]


async def test_nothing_is_in_it_at_the_start(emulator):
    async with PravegaClient(emulator.config) as client:
        assert [name for name in await client.list_scopes() if "emulator" in name] == []


async def test_two_of_them_do_not_know_each_other(emulator, pravega_emulator):
    assert emulator.controller_uri != pravega_emulator.controller_uri
    scope = f"s{uuid.uuid4().hex}"
    async with PravegaClient(emulator.config) as ours, PravegaClient(pravega_emulator.config) as theirs:
        await ours.create_scope(scope)
        assert scope not in await theirs.list_scopes()


def test_the_schema_registry_takes_schemas(emulator):
    group = {
        "groupName": f"g{uuid.uuid4().hex}",
        "groupProperties": {
            "serializationFormat": {"serializationFormat": "Avro", "fullTypeName": ""},
            "compatibility": {"policy": "AllowAny"},
            "allowMultipleTypes": False,
            "properties": {},
        },
    }
    request = urllib.request.Request(
        f"{emulator.schema_registry_uri}/v1/groups",
        json.dumps(group).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        assert answer.status == 201


def test_with_a_data_folder_storage_and_logs_are_there(emulator):
    folder = emulator.logs.parent

    assert (folder / "storage").is_dir()
    assert {path.name for path in emulator.logs.iterdir()} >= {"pravega.log", "schema-registry.log"}


def test_a_program_finds_it_by_its_environment(emulator):
    script = "from aiopravega import PravegaConfig; print(PravegaConfig().controller_uri)"
    environment = os.environ | emulator.environment()
    found = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)

    assert found.stdout.strip() == emulator.controller_uri
    assert emulator.environment()["PRAVEGA_SCHEMA_REGISTRY_URI"] == emulator.schema_registry_uri


async def test_settings_of_the_controller_count(emulator):
    async with PravegaClient(emulator.config) as client:
        await client.create_scope("settings")
        await client.create_stream("settings/stream")
        with pytest.raises(ConfigurationError, match="does not take this lease"):
            await client.controller.create_transaction(StreamName("settings", "stream"), 30_000)
        transaction = await client.open_transaction("settings/stream", lease=30)
        assert await transaction.hold() <= 20


async def test_a_killed_one_answers_no_more_and_starts_again_empty(emulator):
    impatient = emulator.config.model_copy(update={"retry_timeout": 0.0, "connect_timeout": 2.0})
    async with PravegaClient(emulator.config) as client:
        await client.create_scope("lost")

    emulator.kill()

    with pytest.raises(PravegaConnectionError):
        async with PravegaClient(impatient) as client:
            await client.create_scope("more")
    emulator.stop()
    emulator.start()
    async with PravegaClient(emulator.config) as client:
        assert await client.list_scopes() == []


def test_a_server_that_fails_to_start_shows_the_end_of_its_log():
    with pytest.raises(EmulatorError) as caught:
        small(settings={"pravegaservice.service.listener.port": "no number"}).start()

    message = str(caught.value)
    assert "pravega ended while it started" in message
    assert "no number" in message
    log = Path(message.split("The last lines of ")[1].split(":\n", maxsplit=1)[0])
    assert "no number" in log.read_text()


def test_a_server_that_finds_a_port_taken_is_recognised_by_what_it_logs(pravega_emulator, monkeypatch):
    monkeypatch.setattr(lifecycle, "_START_ATTEMPTS", 1)  # three of them are tested with a played server
    taken = pravega_emulator.controller_uri.rsplit(":", 1)[1]

    with pytest.raises(EmulatorError, match="ports taken"):
        small(settings={"singlenode.zk.port": taken}).start()

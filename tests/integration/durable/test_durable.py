"""The durable Pravega: its processes are killed one by one, and all at once, and no acknowledged event is lost."""

import base64
import json
from pathlib import Path

import pytest
from tests.integration.durable import TOKEN_SECONDS

from aiopravega import PravegaClient, StreamCutRange, StreamName
from aiopravega.control import Access
from aiopravega.errors import EmulatorError, PermissionDeniedError
from pravega_emulator import DurablePravega

pytestmark = [pytest.mark.timeout(1500), pytest.mark.xdist_group("durable")]


async def append(cluster: DurablePravega, stream: str, event: bytes) -> None:
    async with PravegaClient(cluster.config) as client:
        await client.create_scope("kept")
        await client.create_stream(f"kept/{stream}")
        async with client.writer(f"kept/{stream}") as writer:
            await writer.write(event)


async def content(cluster: DurablePravega, stream: str) -> list[bytes]:
    async with PravegaClient(cluster.config) as client:
        everything = StreamCutRange(await client.head(f"kept/{stream}"), await client.tail(f"kept/{stream}"))
        return [event.data async for event in client.read(everything)]


# The segment store is killed in `test_faults`, during reads and writes.
async def test_a_bookie_that_was_killed_restarts_with_all_data(cluster):
    await append(cluster, "bookie", b"before")

    cluster.kill("bookie")
    assert not cluster.running
    cluster.restart("bookie")
    cluster.wait_ready()

    assert cluster.running
    assert await content(cluster, "bookie") == [b"before"]
    await append(cluster, "bookie", b"after")
    assert await content(cluster, "bookie") == [b"before", b"after"]


async def test_what_ended_is_started_again_if_one_asks_for_it(cluster):
    await append(cluster, "revived", b"before")
    assert cluster.revive() == []

    cluster.kill("controller")
    cluster.kill("zookeeper")
    assert cluster.revive() == ["zookeeper", "controller"]
    cluster.wait_ready()

    assert cluster.running
    assert await content(cluster, "revived") == [b"before"]
    await append(cluster, "revived", b"after")
    assert await content(cluster, "revived") == [b"before", b"after"]


async def test_a_killed_cluster_restarts_from_its_folder_at_the_same_address(cluster):
    await append(cluster, "all", b"before")
    address = cluster.controller_uri

    cluster.kill()
    cluster.stop()
    cluster.start()

    assert cluster.controller_uri == address
    assert await content(cluster, "all") == [b"before"]


async def test_delegation_tokens_live_as_long_as_they_should(cluster):
    await append(cluster, "tokens", b"event")
    async with PravegaClient(cluster.config) as client:
        token = await client.controller.delegation_token(StreamName("kept", "tokens"), Access.READ)

    payload = token.split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    assert claims["exp"] - claims["iat"] == TOKEN_SECONDS


async def test_an_account_may_do_what_its_rules_say(cluster):
    async with PravegaClient(cluster.config) as admin:
        await admin.create_scope("mine")
        await admin.create_scope("theirs")

    async with PravegaClient(cluster.config_for("clerk")) as clerk:
        await clerk.create_stream("mine/orders")
        with pytest.raises(PermissionDeniedError):
            await clerk.create_stream("theirs/orders")


def test_a_process_that_is_not_there_is_named(cluster):
    with pytest.raises(EmulatorError, match=r"no process 'broker'.*zookeeper, bookie, segmentstore, controller"):
        cluster.kill("broker")


def test_a_second_cluster_cannot_have_the_folder_of_a_running_one(cluster):
    folder = Path(cluster.logs).parent

    with pytest.raises(EmulatorError, match="another emulator uses the folder"):
        DurablePravega(data=folder).start()
    assert cluster.running

"""A token that ends while a client works: the server's accounts stand for an identity provider that forgets one."""

import base64
from pathlib import Path

import pytest

from aiopravega import PravegaClient, PravegaConfig, StreamCutRange
from aiopravega.errors import AuthenticationError
from pravega_emulator import DurablePravega
from pravega_emulator.security import accounts_text
from pravega_emulator.server import Account

pytestmark = [pytest.mark.timeout(1500), pytest.mark.xdist_group("durable")]


def token_of(account: Account) -> str:
    return f"Basic {base64.b64encode(f'{account.name}:{account.password}'.encode()).decode()}\n"


def with_source(cluster: DurablePravega, source: Path) -> PravegaConfig:
    return PravegaConfig(
        controller_uri=cluster.controller_uri, ca_file=str(cluster.server.ca_file), token_source=f"file:{source}"
    )


async def test_a_writer_and_a_reader_outlive_the_token_of_their_file(cluster, tmp_path):
    lodger = next(account for account in cluster.server.accounts if account.name == "lodger")
    renamed = Account(lodger.name, "another-one", lodger.acl)
    file, stale = tmp_path / "token", tmp_path / "stale"
    for each in (file, stale):
        each.write_text(token_of(lodger))

    async with PravegaClient(with_source(cluster, file)) as client:
        await client.create_scope("lodging")
        await client.create_stream("lodging/stream")
        start = await client.head("lodging/stream")
        async with client.writer("lodging/stream") as writer:
            await writer.write(b"before")
            await writer.flush()

            accounts = [renamed if each is lodger else each for each in cluster.server.accounts]
            (cluster.server.ca_file.parent / "accounts").write_text(accounts_text(accounts))
            file.write_text(token_of(renamed))
            # Its segment store asks for a token at the next set-up, and the controller knows the new password only.
            cluster.kill("segmentstore")
            cluster.kill("controller")
            cluster.restart("segmentstore")
            cluster.restart("controller")
            cluster.wait_ready()

            await writer.write(b"after")
            await writer.flush()
        end = await client.tail("lodging/stream")
        assert [event.data async for event in client.read(StreamCutRange(start, end))] == [b"before", b"after"]

    with pytest.raises(AuthenticationError, match=r"the token of token_source \(file\) is refused, and asking there"):
        await PravegaClient(with_source(cluster, stale)).__aenter__()

"""With TLS and authentication: everything works, and what is not allowed is refused with the reason."""

import uuid

import pytest

from aiopravega import UNBOUNDED, PravegaClient, PravegaConfig, ScalingPolicy, StreamCutRange, StreamName
from aiopravega.blocking import PravegaClient as BlockingClient
from aiopravega.errors import AuthenticationError, PermissionDeniedError, PravegaError, SecurityError, TlsError
from aiopravega.read.bulk import BulkReader
from aiopravega.wire import scan_frames

EVENTS = [b"event-%d" % number for number in range(500)]


@pytest.fixture
async def admin(pravega_emulator_secure):
    async with PravegaClient(pravega_emulator_secure.config) as client:
        yield client


@pytest.fixture
async def stream(admin):
    name = StreamName(f"secure-{uuid.uuid4().hex}", "stream")
    await admin.create_scope(name.scope)
    await admin.create_stream(name, ScalingPolicy.fixed(3))
    return name


@pytest.fixture
def reader_config(pravega_emulator_secure):
    return pravega_emulator_secure.config_for("reader")


async def everything(client, stream):
    return [event.data async for event in client.read(StreamCutRange(UNBOUNDED, UNBOUNDED), stream)]


async def test_plain_writes_transactions_tables_and_reads_work(admin, stream):
    async with admin.writer(stream) as writer:
        await writer.write_many(EVENTS[:250])
    async with admin.transaction(stream) as transaction:
        await transaction.write_many(EVENTS[250:])
    await transaction.wait_committed(30)
    await admin.create_table(stream.scope, "table", key_length=4)
    table = admin.table(stream.scope, "table")
    version = await table.put_if_absent(b"key1", b"one")
    await table.replace(b"key1", b"two", version)

    assert sorted(await everything(admin, stream)) == sorted(EVENTS)
    assert [entry.value async for entry in table.entries()] == [b"two"]


async def test_groups_are_made_and_moved_by_who_may_and_read_by_all(admin, stream, reader_config):
    async with admin.writer(stream) as writer:
        await writer.write_many(EVENTS)
    tail = await admin.tail(stream)
    assert await admin.create_reader_group(stream.scope, "group", [stream])
    await admin.reset_reader_group(stream.scope, "group", [tail])
    await admin.subscribe(stream, "etl")
    await admin.report(stream, "etl", tail)
    for group in ("group", "etl.stream"):
        assert (await admin.describe_reader_group(stream.scope, group)).lag_bytes == 0

    async with PravegaClient(reader_config) as reader:
        assert (await reader.describe_reader_group(stream.scope, "group")).lag_bytes == 0
        for refused in (
            reader.create_reader_group(stream.scope, "other", [stream]),
            reader.reset_reader_group(stream.scope, "group", [stream]),
            reader.delete_reader_group(stream.scope, "group"),
            reader.checkpoint_reader_group(stream.scope, "group"),
            reader.publish_reader_group(stream.scope, "etl.stream", [tail]),
        ):
            with pytest.raises(PermissionDeniedError):
                await refused

    await admin.delete_reader_group(stream.scope, "group")
    assert await admin.reader_groups(stream.scope) == ["etl.stream"]


async def test_an_account_that_may_only_read_reads(admin, stream, reader_config):
    async with admin.writer(stream) as writer:
        await writer.write_many(EVENTS)

    async with PravegaClient(reader_config) as reader:
        assert sorted(await everything(reader, stream)) == sorted(EVENTS)
        assert await reader.tail(stream) == await admin.tail(stream)


def test_an_account_that_may_only_read_reads_in_bulk(pravega_emulator_secure, reader_config):
    name = StreamName(f"secure-{uuid.uuid4().hex}", "stream")
    with BlockingClient(pravega_emulator_secure.config) as admin:
        admin.create_scope(name.scope)
        admin.create_stream(name)
        with admin.writer(name) as writer:
            writer.write_many(EVENTS)

    with BlockingClient(reader_config) as client:
        reader = BulkReader(client.locate, reader_config)
        parts = client.plan(StreamCutRange(UNBOUNDED, UNBOUNDED), name)
        assert sum(len(block.frames) for part in parts for block in reader.read(part, scan=scan_frames)) == len(EVENTS)
        reader.close()


async def test_an_account_that_may_only_read_cannot_write(stream, reader_config):
    async with PravegaClient(reader_config) as reader:
        with pytest.raises(SecurityError, match=stream.stream):
            async with reader.writer(stream) as writer:
                await writer.write(b"not allowed")
        with pytest.raises(PermissionDeniedError, match=stream.stream):
            await reader.open_transaction(stream)
        with pytest.raises(PermissionDeniedError):
            await reader.create_stream(f"{stream.scope}/another")


async def test_a_wrong_password_is_refused_on_entering(pravega_emulator_secure):
    config = pravega_emulator_secure.config.model_copy(update={"password": _secret("wrong-password")})

    with pytest.raises(AuthenticationError) as caught:
        async with PravegaClient(config):
            pass
    assert "wrong-password" not in str(caught.value)


async def test_no_credentials_are_refused_on_entering(pravega_emulator_secure):
    config = PravegaConfig(
        controller_uri=pravega_emulator_secure.controller_uri, ca_file=str(pravega_emulator_secure.ca_file)
    )

    with pytest.raises(AuthenticationError):
        async with PravegaClient(config):
            pass


async def test_a_ca_that_did_not_sign_the_certificate_is_refused(pravega_emulator_secure):
    config = pravega_emulator_secure.config.model_copy(update={"ca_file": None, "connect_timeout": 5.0})

    with pytest.raises(TlsError):
        async with PravegaClient(config):
            pass


async def test_tcp_to_a_server_with_tls_is_a_clear_error(pravega_emulator_secure):
    uri = pravega_emulator_secure.controller_uri.replace("tls://", "tcp://")
    config = pravega_emulator_secure.config.model_copy(
        update={"controller_uri": uri, "ca_file": None, "connect_timeout": 5.0}
    )

    with pytest.raises(PravegaError, match="tls://"):
        async with PravegaClient(config):
            pass


async def test_tls_to_a_server_without_it_is_a_clear_error(pravega_config, pravega_emulator_secure):
    config = PravegaConfig(
        controller_uri=pravega_config.controller_uri.replace("tcp://", "tls://"),
        ca_file=str(pravega_emulator_secure.ca_file),
        connect_timeout=5.0,
    )

    with pytest.raises(PravegaError, match=r"tcp://|TLS"):
        async with PravegaClient(config):
            pass


def _secret(text: str):
    from pydantic import SecretStr

    return SecretStr(text)

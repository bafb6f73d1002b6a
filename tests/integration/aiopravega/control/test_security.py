"""TLS and authentication on the real server: who may what, and what is said to those who may not."""

import uuid

import pytest

from aiopravega import PravegaConfig, ScalingPolicy, StreamConfiguration, errors
from aiopravega.control import Access, Controller
from aiopravega.names import SegmentId, StreamName


@pytest.fixture
async def connect(pravega_emulator_secure):
    """Makes controllers of the secure server; settings replace those of its administrator."""
    full = pravega_emulator_secure.config
    made = []

    def make(**settings):
        known = {
            "controller_uri": full.controller_uri,
            "username": full.username,
            "password": full.password,
            "ca_file": full.ca_file,
            "connect_timeout": 5.0,
        }
        config = PravegaConfig(**{key: value for key, value in (known | settings).items() if value is not None})
        made.append(Controller(config))
        return made[-1]

    yield make
    for controller in made:
        await controller.close()


@pytest.fixture
async def reader(pravega_emulator_secure):
    """Somebody who may read everything, and write nothing."""
    controller = Controller(pravega_emulator_secure.config_for("reader"))
    yield controller
    await controller.close()


@pytest.fixture
async def stream(connect):
    name = StreamName(f"secure-{uuid.uuid4().hex}", "stream")
    controller = connect()
    await controller.create_scope(name.scope)
    await controller.create_stream(name, StreamConfiguration(ScalingPolicy.fixed(1)))
    return name


async def test_who_may_do_everything_does(connect, stream):
    controller = connect()
    await controller.ping()
    await controller.create_table(stream.scope, "table", 1, 8)
    (partition,) = await controller.table_segments(stream.scope, "table")

    assert stream.scope in await controller.list_scopes()
    assert await controller.epoch_segments(stream, 0)
    assert await controller.create_transaction(stream, 30_000)
    for name in (stream, partition.segment.stream):
        for access in Access:
            assert (await controller.delegation_token(name, access)).count(".") == 2


async def test_who_may_only_read_gets_what_a_reader_needs(reader, stream):
    segment = SegmentId(stream, 0, 0)
    await reader.ping()

    assert await reader.list_streams(stream.scope) == [stream]
    assert [entry.segment for entry in await reader.current_segments(stream)] == [segment]
    assert await reader.head_segments(stream) == {segment: 0}
    assert await reader.segments_between(stream, {segment: 0}, {segment: 0}) == [segment]
    assert await reader.successors(segment) == []
    assert await reader.endpoint(segment)
    assert await reader.stream_configuration(stream)
    assert await reader.delegation_token(stream, Access.READ)


async def test_an_account_that_may_only_read_gets_an_error_when_writing(reader, stream):
    segment = SegmentId(stream, 0, 0)

    for call in (
        reader.delegation_token(stream, Access.WRITE),
        reader.delegation_token(stream, Access.READ_WRITE),
        reader.create_transaction(stream, 30_000),
        reader.seal_stream(stream),
        reader.truncate_stream(stream, {segment: 0}),
        reader.scale(stream, [segment], [(0.0, 1.0)], timeout=30),
        reader.create_scope("forbidden"),
        reader.create_table(stream.scope, "forbidden", 1, 8),
    ):
        with pytest.raises(errors.PermissionDeniedError, match="another account"):
            await call


@pytest.mark.parametrize(
    "settings",
    [
        {"password": "wrong"},
        {"username": "nobody"},
        {"username": None, "password": None},
        {"username": None, "password": None, "token": "abc.def.ghi"},
    ],
    ids=["wrong-password", "unknown-user", "no-credentials", "unknown-method"],
)
async def test_an_unknown_account_gets_an_error_on_connecting(connect, settings):
    with pytest.raises(errors.AuthenticationError, match="username and password"):
        await connect(**settings).ping()


async def test_the_error_of_a_plain_client_says_to_use_tls(connect, pravega_emulator_secure):
    plain = pravega_emulator_secure.config.controller_uri.replace("tls://", "tcp://")

    with pytest.raises(errors.TlsError, match="Use tls://"):
        await connect(controller_uri=plain, ca_file=None).ping()


async def test_the_error_of_a_tls_client_of_a_plain_server_says_to_use_tcp(connect, pravega_config):
    uri = pravega_config.controller_uri.replace("tcp://", "tls://")

    with pytest.raises(errors.TlsError, match="If that is intended, use tcp://"):
        await connect(controller_uri=uri).ping()


async def test_without_the_ca_file_the_server_is_not_trusted(connect):
    with pytest.raises(errors.TlsError, match="ca_file"):
        await connect(ca_file=None).ping()


async def test_names_need_not_be_checked(connect):
    await connect(verify_hostname=False).ping()

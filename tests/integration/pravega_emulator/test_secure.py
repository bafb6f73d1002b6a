"""The embedded Pravega with TLS and authentication: who gets in, and how far. Accounts of one's own: `test_durable`."""

import ssl
import urllib.error
import urllib.request
import uuid
from base64 import b64encode

import pytest

from aiopravega import PravegaClient, StreamCutRange
from aiopravega.errors import AuthenticationError, PermissionDeniedError, PravegaError, TlsError
from pravega_emulator.certificates import make_certificates


async def test_the_admin_may_do_everything_and_the_reader_may_read(pravega_emulator_secure):
    scope = f"s{uuid.uuid4().hex}"
    async with PravegaClient(pravega_emulator_secure.config) as admin:
        await admin.create_scope(scope)
        await admin.create_stream(f"{scope}/stream")
        async with admin.writer(f"{scope}/stream") as writer:
            await writer.write(b"event")

    async with PravegaClient(pravega_emulator_secure.config_for("reader")) as reader:
        everything = StreamCutRange(await reader.head(f"{scope}/stream"), await reader.tail(f"{scope}/stream"))
        assert [event.data async for event in reader.read(everything)] == [b"event"]
        with pytest.raises(PermissionDeniedError):
            await reader.create_stream(f"{scope}/other")
        with pytest.raises(PermissionDeniedError):
            async with reader.writer(f"{scope}/stream") as writer:
                await writer.write(b"not allowed")


async def test_nobody_gets_in_without_the_right_password(pravega_emulator_secure):
    emulator = pravega_emulator_secure
    nobody = emulator.config.model_copy(update={"username": None, "password": None, "retry_timeout": 0.0})
    wrong = emulator.config_for("reader").model_copy(update={"username": "admin", "retry_timeout": 0.0})

    for config in (nobody, wrong):
        with pytest.raises(AuthenticationError):
            async with PravegaClient(config) as client:
                await client.create_scope("x")


async def test_nobody_gets_in_without_the_authority_or_without_tls(pravega_emulator_secure, tmp_path):
    emulator = pravega_emulator_secure
    other_authority = {"ca_file": str(make_certificates(tmp_path).ca), "retry_timeout": 0.0}
    with pytest.raises(TlsError):
        async with PravegaClient(emulator.config.model_copy(update=other_authority)) as client:
            await client.create_scope("x")

    plain = {"controller_uri": emulator.controller_uri.replace("tls", "tcp"), "ca_file": None, "retry_timeout": 0.0}
    with pytest.raises(PravegaError):
        async with PravegaClient(emulator.config.model_copy(update=plain)) as client:
            await client.create_scope("x")


def test_the_schema_registry_is_encrypted_and_asks_for_credentials_too(pravega_emulator_secure):
    emulator = pravega_emulator_secure
    context = ssl.create_default_context(cafile=emulator.config.ca_file)
    request = urllib.request.Request(f"{emulator.schema_registry_uri}/v1/groups?limit=10")

    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(request, timeout=30, context=context)
    assert caught.value.code == 401

    variables = emulator.environment()
    token = b64encode(f"{variables['PRAVEGA_USERNAME']}:{variables['PRAVEGA_PASSWORD']}".encode()).decode()
    request.add_header("Authorization", f"Basic {token}")
    with urllib.request.urlopen(request, timeout=30, context=context) as answer:
        assert answer.status == 200


def test_passwords_are_in_no_log(pravega_emulator_secure):
    secrets = [pravega_emulator_secure.environment(name)["PRAVEGA_PASSWORD"] for name in ("admin", "reader")]

    for log in pravega_emulator_secure.logs.iterdir():
        text = log.read_text()
        assert not any(secret in text for secret in secrets)

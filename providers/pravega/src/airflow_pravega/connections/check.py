"""Check of a connection: asks each part of the cluster, and names a part that fails."""

from collections.abc import Awaitable
from contextlib import suppress
from typing import Final, TypeVar

from aiopravega import PravegaClient, PravegaConfig, StreamName
from aiopravega.errors import PermissionDeniedError, PravegaError, SegmentNotFoundError, StreamNotFoundError
from aiopravega.schema import RegistryConfig, SchemaRegistry

T = TypeVar("T")
# Scopes in which a stream is searched for, and streams of each that are tried.
_SCOPES: Final = 20
_STREAMS: Final = 3


class _PartError(Exception):
    """A part of the cluster that does not work."""


async def check_connection(config: PravegaConfig, registry: RegistryConfig | None) -> tuple[bool, str]:
    """Ask the controller, a segment store, and the registry if there is one; the text is for a user."""
    try:
        sentences = [await _cluster(config)]
        if registry is not None:
            sentences.append(await _registry(registry))
    except _PartError as error:
        return False, str(error)
    return True, " ".join(sentences)


async def _cluster(config: PravegaConfig) -> str:
    client = PravegaClient(config)
    controller = f"the controller at {config.controller_uri}"
    await _part(controller, client.__aenter__())
    try:
        scopes = await _part(controller, client.list_scopes())
        shown = f"{controller[0].upper()}{controller[1:]} shows {len(scopes)} scopes."
        stream = await _readable(f"{shown} But a segment store", client, [config.scope] if config.scope else scopes)
        if stream is None:
            return f"{shown} No segment store was asked: this account sees no stream that it may read."
        return f"{shown} The segment stores of stream {stream} answer."
    finally:
        await client.close()


async def _readable(what: str, client: PravegaClient, scopes: list[str]) -> StreamName | None:
    """A stream whose segment stores have answered; None if this account may read none of the streams tried."""
    for scope in scopes[:_SCOPES]:
        streams: list[StreamName] = []
        with suppress(PravegaError):  # an account may see a scope, and not its streams
            streams = await client.list_streams(scope)
        for stream in streams[:_STREAMS]:
            # Only the segment stores know the tail. The stream may be gone since it was listed.
            try:
                await client.tail(stream)
            except (PermissionDeniedError, StreamNotFoundError, SegmentNotFoundError):
                continue
            except PravegaError as error:
                raise _failure(f"{what} of stream {stream}", error) from error
            return stream
    return None


async def _registry(registry: RegistryConfig) -> str:
    async with SchemaRegistry(registry) as client:
        await _part(f"the Schema Registry at {registry.uri}", client.ping())
    return f"The Schema Registry at {registry.uri} answers."


async def _part(name: str, answer: Awaitable[T]) -> T:
    try:
        return await answer
    except PravegaError as error:
        raise _failure(name, error) from error


def _failure(name: str, error: PravegaError) -> _PartError:
    return _PartError(f"{name[0].upper()}{name[1:]} fails: {type(error).__name__}: {error}")

"""Check of a connection: asks each part of the cluster about what the connection names, and names a part that fails.

A denied request is not a failure: accounts that work have few rights. The text says what the account may do.
"""

from collections.abc import Awaitable
from typing import Final, TypeVar

from aiopravega import PravegaClient, PravegaConfig, StreamName
from aiopravega.errors import (
    NotFoundError,
    PermissionDeniedError,
    PravegaError,
    ScopeNotFoundError,
    SegmentNotFoundError,
    StreamNotFoundError,
    TableNotFoundError,
)
from aiopravega.ledger import CUT_TABLE
from aiopravega.ledger.intervals.cut_record import KEY_LENGTH
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
        sentences = await _cluster(config)
        if registry is not None:
            sentences.append(await _registry(registry))
    except _PartError as error:
        return False, str(error)
    return True, " ".join(sentences)


async def _cluster(config: PravegaConfig) -> list[str]:
    client = PravegaClient(config)
    controller = f"The controller at {config.controller_uri}"
    await _part(f"{controller} fails", client.__aenter__())
    try:
        found = f"{controller} accepts the account."
        if config.scope is not None:
            return [found, *(await _scope(found, client, config.scope))]
        return [found, *(await _scopes(found, client))]
    finally:
        await client.close()


async def _scopes(found: str, client: PravegaClient) -> list[str]:
    """Sentences about a connection that names no scope."""
    try:
        scopes = await _part(f"{found} But it cannot list scopes", client.list_scopes())
    except PermissionDeniedError:
        text = "The account may not list scopes, so no segment store was asked: name its scope in the connection's "
        return [f"{text}extra `scope`, and test again."]
    shown = f"It shows {len(scopes)} scopes."
    for scope in scopes[:_SCOPES]:
        try:
            streams = await _part(f"{found} But it cannot list streams", client.list_streams(scope))
        except (PermissionDeniedError, ScopeNotFoundError):
            continue
        if (stream := await _readable(found, client, streams)) is not None:
            return [shown, _answers(stream)]
    return [shown, "No segment store was asked: this account sees no stream that it may read."]


async def _scope(found: str, client: PravegaClient, scope: str) -> list[str]:
    """Sentences about a connection that names its scope: nothing outside of the scope is asked."""
    try:
        streams = await _part(f"{found} But it cannot list the streams of scope {scope!r}", client.list_streams(scope))
    except ScopeNotFoundError:
        raise _PartError(
            f"{found} But there is no scope {scope!r}: make it, or mend the connection's extra `scope`."
        ) from None
    except PermissionDeniedError:
        sentences = [f"The account may not list the streams of scope {scope!r}."]
    else:
        sentences = [f"Scope {scope!r} shows {len(streams)} streams."]
        if (stream := await _readable(found, client, streams)) is not None:
            return [*sentences, _answers(stream)]
    # An account that takes ranges of streams may read the ledger, even if it may not list anything.
    ledger = client.table(scope, CUT_TABLE)
    try:
        await _part(f"{found} But a segment store of {scope}/{CUT_TABLE} fails", ledger.get(bytes(KEY_LENGTH)))
    except (PermissionDeniedError, TableNotFoundError):
        none = "No segment store was asked: the test knows no stream, and no cut ledger, that the account may read."
        return [*sentences, f"{none} Streams that jobs name are not tried."]
    return [*sentences, f"It may read the cut ledger {scope}/{CUT_TABLE}, whose segment store answers."]


async def _readable(found: str, client: PravegaClient, streams: list[StreamName]) -> StreamName | None:
    """A stream whose segment stores have answered; None if this account may read none of the streams tried."""
    for stream in streams[:_STREAMS]:
        try:  # only the segment stores know the tail
            await _part(f"{found} But a segment store of stream {stream} fails", client.tail(stream))
        except (PermissionDeniedError, StreamNotFoundError, SegmentNotFoundError):  # gone since it was listed
            continue
        return stream
    return None


def _answers(stream: StreamName) -> str:
    return f"The segment stores of stream {stream} answer."


async def _registry(registry: RegistryConfig) -> str:
    name = f"The Schema Registry at {registry.uri}"
    async with SchemaRegistry(registry) as client:
        try:
            await client.ping()
        except PravegaError as error:
            raise _failure(f"{name} fails", error) from error
    return f"{name} answers."


async def _part(failure: str, answer: Awaitable[T]) -> T:
    """The answer of a part; an error about rights, or about a thing that is missing, is the caller's to judge.

    Raises:
        _PartError: the part does not work.
        PermissionDeniedError: the account may not ask this.
        NotFoundError: what was asked about does not exist.
    """
    try:
        return await answer
    except (PermissionDeniedError, NotFoundError):
        raise
    except PravegaError as error:
        raise _failure(failure, error) from error


def _failure(what: str, error: PravegaError) -> _PartError:
    return _PartError(f"{what}: {type(error).__name__}: {error}")

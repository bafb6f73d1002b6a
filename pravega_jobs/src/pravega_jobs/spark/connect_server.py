"""Connections to a Spark Connect server, for those who know its operations by name: URL, channels, refusals."""

import importlib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final

from aiopravega.errors import ConfigurationError, PravegaConnectionError
from pravega_jobs.spark.session import CONNECT, check_installed

_TOKEN_VARIABLE: Final = "SPARK_CONNECT_AUTHENTICATE_TOKEN"
# Parameters of a URL that are no secret, and that do not name a session.
_PARAMETERS: Final = ("use_ssl", "user_id", "user_agent")
_REFUSED: Final = ("UNAUTHENTICATED", "PERMISSION_DENIED", "UNIMPLEMENTED")


def check_url(url: str) -> None:
    """Check that a URL is of a server, and has nothing that others must not see: it is stored while nobody works.

    Raises:
        ConfigurationError: it leads elsewhere, or has a parameter that is, or may be, a secret.
    """
    if not url.startswith(CONNECT):
        raise ConfigurationError(
            f"the master is {url}, whose driver ends with the process that has started it: only a Spark Connect server "
            f"({CONNECT}host:port) continues without it"
        )
    named = {each.partition("=")[0] if "=" in each else "a value without a name" for each in url.split(";")[1:] if each}
    others = sorted(named - {*_PARAMETERS})
    if others or "@" in url:
        raise ConfigurationError(
            f"the URL of the Spark Connect server has {', '.join(others) or 'a user'}, but it is stored where others "
            f"see it: leave out all but {', '.join(_PARAMETERS)}. A token comes from the variable {_TOKEN_VARIABLE} of "
            "the processes that begin and follow operations"
        )


def load_client() -> None:
    """Import Spark's client.

    Raises:
        ConfigurationError: it is not installed.
    """
    check_installed(is_connect=True)
    importlib.import_module("pyspark.sql.connect.client.core")


@contextmanager
def stub_of(url: str) -> Iterator[tuple[Any, Any]]:
    """A stub of the service, and the metadata of its calls; the client is loaded."""
    from pyspark.sql.connect.client import DefaultChannelBuilder
    from pyspark.sql.connect.proto.base_pb2_grpc import SparkConnectServiceStub

    builder = DefaultChannelBuilder(url)
    with builder.toChannel() as channel:
        yield SparkConnectServiceStub(channel), builder.metadata()


@asynccontextmanager
async def asynchronous_stub(url: str) -> AsyncIterator[tuple[Any, Any]]:
    """The same as `stub_of`, by the loop; PySpark makes no such channel. The rules are as in its `toChannel`."""
    import grpc
    from pyspark.sql.connect.client import DefaultChannelBuilder
    from pyspark.sql.connect.proto.base_pb2_grpc import SparkConnectServiceStub

    builder = DefaultChannelBuilder(url)
    token = builder.token
    options = builder.GRPC_DEFAULT_OPTIONS
    if not builder.secure:
        channel = grpc.aio.insecure_channel(builder.endpoint, options)
    else:
        is_local = not builder.use_ssl and builder.host == "localhost"
        credentials = grpc.local_channel_credentials() if is_local else grpc.ssl_channel_credentials()
        if token is not None:
            call = grpc.access_token_call_credentials(token)
            credentials = grpc.composite_channel_credentials(credentials, call)
        channel = grpc.aio.secure_channel(builder.endpoint, credentials, options)
    async with channel:
        yield SparkConnectServiceStub(channel), builder.metadata()


def check_admitted(url: str, error: Any) -> None:
    """Check that an error of gRPC does not refuse this client.

    Raises:
        ConfigurationError: it does.
    """
    if error.code().name in _REFUSED:
        raise ConfigurationError(
            f"the Spark Connect server {url} answers {error.code().name} ({error.details()}): give the token as "
            f"{_TOKEN_VARIABLE} to this process, and the user and session to nobody else"
        ) from error


def unreachable(url: str, error: Any) -> PravegaConnectionError:
    """The error of a server that does not answer, from one of gRPC."""
    return PravegaConnectionError(f"the Spark Connect server {url} cannot be reached: {error.details()}")

"""Requests to the registry: time limits, retries, and statuses as errors of this package.

This module knows methods and paths, not groups or schemas.
"""

import json
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from aiopravega.errors import (
    AuthenticationError,
    CodecNotRegisteredError,
    ConfigurationError,
    InvalidSchemaError,
    NotFoundError,
    PermissionDeniedError,
    PravegaConnectionError,
    PravegaError,
    PravegaTimeoutError,
    SchemaRefusedError,
    ServerError,
    TlsError,
)
from aiopravega.net.authorization import Authorization
from aiopravega.retry import RetryPolicy, retrying
from aiopravega.schema.registry.config import RegistryConfig

try:
    import httpx
except ImportError:
    raise ConfigurationError("the Schema Registry needs httpx: pip install 'aiopravega[schema]'") from None

_ERRORS: Final[Mapping[int, type[PravegaError]]] = {
    400: InvalidSchemaError,
    401: AuthenticationError,
    403: PermissionDeniedError,
    404: NotFoundError,
    409: SchemaRefusedError,
    412: CodecNotRegisteredError,
    417: SchemaRefusedError,
}
# Statuses of a proxy or of a starting server. The registry itself answers 500 to bad input, which a retry cannot help.
_PASSING: Final = frozenset({502, 503, 504})
# When its own token for Pravega has run out, after ten minutes by default, the registry's next write fails with this
# and nothing is written; then it gets a fresh one. All requests that write may be repeated: the result is the same.
_STALE_TOKEN: Final = re.compile(r"\w+ in table: _schemaregistry/")
_SHOWN: Final = 300  # characters of an answer in a message


@dataclass(frozen=True, slots=True)
class RegistryResponse:
    """The status and the text of a response."""

    status: int
    text: str

    def json(self) -> Any:
        """The body.

        Raises:
            ServerError: it is not JSON.
        """
        try:
            return json.loads(self.text)
        except ValueError:
            raise ServerError(f"the Schema Registry gave an answer that is not JSON: {self.text[:_SHOWN]!r}") from None


class RegistryHttp:
    """Keeps connections to one registry; belongs to one event loop."""

    def __init__(self, config: RegistryConfig) -> None:
        self._config = config
        self._authorization = Authorization(config)
        self._client = httpx.AsyncClient(
            base_url=config.uri,
            verify=config.ssl_context() or False,  # without TLS nothing is verified
            timeout=httpx.Timeout(config.request_timeout, connect=config.connect_timeout),
            trust_env=False,  # a proxy or a .netrc of the environment does not know the registry
        )

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()

    async def ask(
        self, method: str, path: str, what: str, *, query: Mapping[str, str] | None = None, body: Any = None
    ) -> RegistryResponse:
        """Send a request; `what` is its purpose in messages, as in "reading group orders".

        Only requests that read, or that certainly had no effect, are sent again.

        Raises:
            PravegaConnectionError: the registry cannot be reached.
            PravegaTimeoutError: no answer came within the time limit.
            SecurityError: the credentials or the certificate are refused.
            NotFoundError: the path does not exist.
            PravegaError: another status.
        """

        async def attempt() -> RegistryResponse:
            authorization = await self._authorization.value()
            try:
                return await self._once(method, path, what, query, body, authorization)
            except AuthenticationError:
                fresh = await self._authorization.replacement(authorization)
                if fresh is None:
                    raise
            return await self._once(method, path, what, query, body, fresh)

        return await retrying(attempt, RetryPolicy(total=self._config.retry_timeout), what)

    async def _once(
        self, method: str, path: str, what: str, query: Mapping[str, str] | None, body: Any, authorization: str | None
    ) -> RegistryResponse:
        target = f"{what} at {self._config.uri}"
        try:
            headers = {} if authorization is None else {"Authorization": authorization}
            response = await self._client.request(method, path, params=query, json=body, headers=headers)
        except httpx.ConnectTimeout:
            raise PravegaConnectionError(
                f"{target}: no connection within {self._config.connect_timeout:g} s: is the address right?"
            ) from None
        except httpx.TimeoutException:
            # Some requests are never answered and keep the server busy: a retry would only add another one.
            raise _final(
                PravegaTimeoutError(f"{target}: no answer within {self._config.request_timeout:g} s; see its log")
            ) from None
        except httpx.ConnectError as error:
            if isinstance(_root(error), ssl.SSLError):
                raise TlsError(f"{target}: {_root(error)}: give the authority's certificate with ca_file") from None
            raise PravegaConnectionError(f"{target}: {error}: is it running there?") from None
        except httpx.TransportError as error:
            lost = PravegaConnectionError(f"{target}: the connection was lost: {error!r}")
            raise (lost if method == "GET" else _final(lost)) from None
        if response.is_success:
            return RegistryResponse(response.status_code, response.text)
        raise self._error(response.status_code, response.text, target, method)

    def _error(self, status: int, text: str, target: str, method: str) -> PravegaError:
        said = " ".join(text.split())[:_SHOWN]
        message = f"{target}: status {status}" + (f": {said}" if said else "")
        kind = _ERRORS.get(status)
        if kind is not None:
            hint = {401: f": {self._config.refusal()}", 403: ": this account may not do it"}.get(status, "")
            return kind(message + hint)
        error = ServerError(message)
        passes = (status in _PASSING and method == "GET") or _STALE_TOKEN.match(said) is not None
        return error if passes else _final(error)


def _final(error: PravegaError) -> PravegaError:
    """An error after which the same request is not sent again here."""
    error.retryable = False
    return error


def _root(error: BaseException) -> BaseException:
    """The first error of a chain, which names the cause."""
    while (inner := error.__cause__ or error.__context__) is not None:
        error = inner
    return error

"""Address of a segment store, and the errors for failures to reach it."""

import ssl
from dataclasses import dataclass

from aiopravega.addresses import host_and_port
from aiopravega.errors import PravegaConnectionError, PravegaError, PravegaTimeoutError, TlsError


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Host and port of a segment store."""

    host: str
    port: int

    def __str__(self) -> str:
        return host_and_port(self.host, self.port)


# What the operating system, TLS and the resolver of names raise; TimeoutError and ssl.SSLError are OSErrors.
NETWORK_ERRORS = (OSError, UnicodeError)


def connection_error(error: BaseException, endpoint: Endpoint, doing: str, limit: float | None = None) -> PravegaError:
    """Our error for an error of the socket or of TLS; `doing` says what was tried, `limit` for how many seconds."""
    if isinstance(error, PravegaError):
        return error
    if isinstance(error, ssl.SSLCertVerificationError):
        return TlsError(
            f"{doing} {endpoint}: the server's certificate was refused ({error.verify_message}): give the CA that "
            "signed it as ca_file, and use a host name that it contains"
        )
    if isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError):  # what TLS raises when the server is gone
        return PravegaConnectionError(f"{doing} {endpoint}: the connection was closed")
    if isinstance(error, ssl.SSLError):
        return TlsError(f"{doing} {endpoint}: TLS failed ({error.reason}): does the server speak TLS? If not: tcp://")
    if isinstance(error, TimeoutError):
        return PravegaTimeoutError(f"{doing} {endpoint}: no answer{'' if limit is None else f' within {limit:g} s'}")
    return PravegaConnectionError(f"{doing} {endpoint}: {error}")


def opening_error(error: BaseException, endpoint: Endpoint, limit: float, *, tls: bool) -> PravegaError:
    """Our error for a connection that failed before its Hello, with a limit of so many seconds.

    A server closes it while it moves or restarts (which passes), or because only one side speaks TLS.
    """
    found = connection_error(error, endpoint, "connecting to the segment store", limit)
    refused = isinstance(error, ConnectionRefusedError)
    if type(found) is not PravegaConnectionError or refused:
        return found
    hint = "it speaks no TLS: then use tcp://" if tls else "it speaks TLS: then use tls://"
    return PravegaConnectionError(f"{found} (before the Hello: the server is restarting, or {hint})")

"""Where a server listens, and what a failure to reach it is called."""

import ssl
from dataclasses import dataclass

from aiopravega.errors import PravegaConnectionError, PravegaError, PravegaTimeoutError, TlsError


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Host and port of a segment store."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def connection_error(error: BaseException, endpoint: Endpoint, doing: str) -> PravegaError:
    """Our error for one of the socket's or TLS's; `doing` says what was tried."""
    if isinstance(error, PravegaError):
        return error
    if isinstance(error, ssl.SSLCertVerificationError):
        return TlsError(
            f"{doing} {endpoint}: the server's certificate was refused ({error.verify_message}): give the CA that "
            "signed it as ca_file, and use the name that it bears"
        )
    if isinstance(error, ssl.SSLError):
        return TlsError(f"{doing} {endpoint}: TLS failed ({error.reason}): does the cluster use TLS? Then use tls://")
    if isinstance(error, TimeoutError):
        return PravegaTimeoutError(f"{doing} {endpoint}: no answer within the time limit")
    return PravegaConnectionError(f"{doing} {endpoint}: {error}")

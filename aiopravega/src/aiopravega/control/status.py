"""The one place where failures of the controller become this package's errors.

Two kinds: the gRPC status of a call that failed, and the status in the answer of a call that went through but
refused. Which gRPC status Pravega gives for what: `ControllerServiceImpl` and `AuthInterceptor` in its controller.
"""

from dataclasses import dataclass
from typing import Final

import grpc

from aiopravega.errors import (
    AlreadyExistsError,
    AuthenticationError,
    ConfigurationError,
    InvalidStreamCutError,
    NotFoundError,
    PermissionDeniedError,
    PravegaConnectionError,
    PravegaError,
    PravegaTimeoutError,
    ProtocolError,
    ScopeNotEmptyError,
    ScopeNotFoundError,
    ServerError,
    StreamNotFoundError,
    StreamNotSealedError,
    StreamSealedError,
    TableNotFoundError,
    TlsError,
    TransactionError,
)

_LONGEST_DETAILS = 300
# What Pravega puts before the stack trace when it is set to send one.
_TRACE_PREFIX = "controllerStackTrace="
# Pravega gives PERMISSION_DENIED with this text to those who may not, and with others for states that forbid it.
_NOT_AUTHORIZED = "Authorization failed"


@dataclass(frozen=True, slots=True)
class CallSite:
    """What an error message needs to know of a call: what it was to do, where, within which time in seconds."""

    what: str
    uri: str
    timeout: float
    missing: type[NotFoundError]


def rpc_error(code: grpc.StatusCode, details: str, site: CallSite) -> PravegaError:
    """The error for a call that gRPC or the controller failed."""
    text = _shortened(details)
    tried = f"cannot {site.what} at {site.uri}"
    match code:
        case grpc.StatusCode.UNAVAILABLE:
            return _unavailable(text, tried, site.uri)
        case grpc.StatusCode.DEADLINE_EXCEEDED:
            return PravegaTimeoutError(
                f"{tried}: no answer within {site.timeout:g} s. Check the address, and that the cluster is healthy."
            )
        case grpc.StatusCode.UNAUTHENTICATED:
            return AuthenticationError(
                f"{tried}: the controller does not accept the credentials ({text}). Check username and password, or "
                "the token; give them if there are none."
            )
        case grpc.StatusCode.PERMISSION_DENIED if _NOT_AUTHORIZED in details:
            return PermissionDeniedError(
                f"{tried}: the credentials are good, but may not do this. Ask for the right, or use another account."
            )
        case grpc.StatusCode.NOT_FOUND:
            return site.missing(f"{tried}: it does not exist ({text})")
        case grpc.StatusCode.ALREADY_EXISTS:
            return AlreadyExistsError(f"{tried}: it exists already ({text})")
        case grpc.StatusCode.INVALID_ARGUMENT | grpc.StatusCode.OUT_OF_RANGE:
            return ConfigurationError(f"{tried}: the controller does not accept an argument ({text})")
        case grpc.StatusCode.UNIMPLEMENTED:
            return ProtocolError(
                f"{tried}: the server there does not know this call ({text}). Is it a Pravega controller?"
            )
        case grpc.StatusCode.CANCELLED:
            return PravegaConnectionError(f"{tried}: the connection was closed meanwhile ({text})")
        case _:
            return ServerError(f"{tried}: the controller failed with {code.name} ({text}). See its log.")


def _shortened(details: str) -> str:
    lines = details.removeprefix(_TRACE_PREFIX).splitlines()
    line = lines[0] if lines else "no details"
    return line if len(line) <= _LONGEST_DETAILS else f"{line[:_LONGEST_DETAILS]}…"


def _unavailable(text: str, tried: str, uri: str) -> PravegaError:
    """Tell why there is no connection; gRPC says it only in words, which differ a little between its versions."""
    if "CERTIFICATE_VERIFY_FAILED" in text:
        return TlsError(
            f"{tried}: its certificate is not trusted ({text}). Give the file of the certificate authority that "
            "signed it as ca_file."
        )
    if "Hostname Verification" in text or "Peer name" in text:
        return TlsError(
            f"{tried}: its certificate is trusted, but is for another name ({text}). Use the name in the certificate, "
            "or set verify_hostname=False."
        )
    if "WRONG_VERSION_NUMBER" in text:
        plain = uri.replace(uri.partition("://")[0], "tcp", 1)
        return TlsError(f"{tried}: the server there does not speak TLS. If that is intended, use {plain}.")
    if "TSI_PROTOCOL_FAILURE" in text:
        return TlsError(f"{tried}: the TLS handshake failed ({text})")
    if "resolv" in text or "lookup" in text:
        return PravegaConnectionError(f"{tried}: the name of the host is not known ({text}). Check the address.")
    return PravegaConnectionError(
        f"{tried}: no connection ({text}). Check the address, and that the controller is running."
    )


# What an answer's status means, by its name: the statuses of all answers share their names.
_REFUSALS: Final[dict[str, tuple[type[PravegaError], str]]] = {
    "FAILURE": (ServerError, "the controller answered FAILURE; see its log"),
    "INTERNAL_ERROR": (ServerError, "the controller failed inside; see its log"),
    "SCOPE_NOT_FOUND": (ScopeNotFoundError, "the scope does not exist; create it first"),
    "SCOPE_NOT_EMPTY": (
        ScopeNotEmptyError,
        "the scope is not empty; delete its streams, tables and reader groups first",
    ),
    "STREAM_NOT_FOUND": (StreamNotFoundError, "the stream does not exist"),
    "STREAM_SEALED": (StreamSealedError, "the stream is sealed, so it cannot change any more"),
    "STREAM_NOT_SEALED": (StreamNotSealedError, "the stream is not sealed; seal it first"),
    "TABLE_NOT_FOUND": (TableNotFoundError, "the key-value table does not exist"),
    "TRANSACTION_NOT_FOUND": (TransactionError, "there is no such transaction"),
    "INVALID_SCOPE_NAME": (ConfigurationError, "the controller does not accept the name of the scope"),
    "INVALID_STREAM_NAME": (ConfigurationError, "the controller does not accept the name of the stream"),
    "INVALID_TABLE_NAME": (ConfigurationError, "the controller does not accept the name of the key-value table"),
    "INVALID_TIME": (ConfigurationError, "the time is before one that this writer has noted already"),
    "INVALID_POSITION": (InvalidStreamCutError, "the position is before one that this writer has noted already"),
}


def refusal(status: str, what: str) -> PravegaError:
    """The error for an answer whose status is not a success."""
    kind, meaning = _REFUSALS.get(status, (ServerError, f"the controller answered {status}"))
    return kind(f"cannot {what}: {meaning}")

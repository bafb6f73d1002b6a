"""The one module where failures of the controller become this package's errors.

Two kinds: the gRPC status of a call that failed, and the status in the answer of a call that went through but
refused. Which gRPC status Pravega gives for what: `ControllerServiceImpl` and `AuthInterceptor` in its controller.
"""

from dataclasses import dataclass
from typing import Final

import grpc
from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper

from aiopravega.errors import (
    AlreadyExistsError,
    AuthenticationError,
    ConfigurationError,
    InvalidRangeError,
    InvalidStreamCutError,
    NotFoundError,
    PermissionDeniedError,
    PravegaConnectionError,
    PravegaError,
    PravegaTimeoutError,
    ProtocolError,
    ReaderGroupNotFoundError,
    ScopeNotEmptyError,
    ScopeNotFoundError,
    ServerError,
    StreamNotFoundError,
    StreamNotSealedError,
    StreamSealedError,
    SubscriberNotFoundError,
    TableNotFoundError,
    TlsError,
    TransactionError,
)

_LONGEST_DETAILS = 300
# What Pravega puts before the stack trace when it is set to send one.
_TRACE_PREFIX = "controllerStackTrace="


@dataclass(frozen=True, slots=True)
class CallSite:
    """A call as its errors describe it: its purpose, the server, and its time limit in seconds."""

    method: str
    what: str
    uri: str
    timeout: float
    missing: type[NotFoundError]


@dataclass(frozen=True, slots=True)
class _Peculiar:
    """The meaning of a status with its details (None: without any), in one call or in all of them (None).

    Found by running the calls against 0.13.0.
    """

    method: str | None
    code: grpc.StatusCode
    details: str | None
    error: type[PravegaError]
    meaning: str

    def fits(self, method: str, code: grpc.StatusCode, details: str) -> bool:
        if code is not self.code or self.method not in (None, method):
            return False
        return not details if self.details is None else self.details in details


_PECULIAR: Final = (
    _Peculiar(
        None,
        grpc.StatusCode.PERMISSION_DENIED,
        "Authorization failed",  # with another text, the state of the stream forbids it
        PermissionDeniedError,
        "the credentials are valid, but do not allow this. Ask for the right, or use another account",
    ),
    _Peculiar(
        "createTransaction",
        grpc.StatusCode.UNKNOWN,
        "lease",
        ConfigurationError,
        "the cluster does not take this lease; by default it takes 10 s to 600 s",
    ),
    _Peculiar(
        "createTransaction",
        grpc.StatusCode.INTERNAL,
        "State: SEALED",
        StreamSealedError,
        "the stream is sealed, so it takes no more events",
    ),
    _Peculiar(
        "getSegmentsBetween",
        grpc.StatusCode.UNKNOWN,
        None,
        InvalidRangeError,
        "the controller refuses the cuts; does the end lie before the start?",
    ),
    _Peculiar(
        "getSegmentsBetween",
        grpc.StatusCode.NOT_FOUND,
        "epochRecord",
        InvalidStreamCutError,
        "a cut has a segment of an epoch that the stream never had; is it of another stream of this name?",
    ),
    _Peculiar(
        "isStreamCutValid",
        grpc.StatusCode.UNKNOWN,
        "",  # it fails inside, with one text or another
        InvalidStreamCutError,
        "the stream has no such segments; is the cut of another stream of this name?",
    ),
    _Peculiar(
        "isStreamCutValid",
        grpc.StatusCode.NOT_FOUND,
        "epochRecord",
        InvalidStreamCutError,
        "a cut has a segment of an epoch that the stream never had; is it of another stream of this name?",
    ),
    _Peculiar(
        "getEpochSegments", grpc.StatusCode.NOT_FOUND, "epochRecord", NotFoundError, "the stream has no such epoch"
    ),
)

_UNAUTHENTICATED = "the credentials are missing or wrong. Check username and password, or the token"
_BY_CODE: Final[dict[grpc.StatusCode, tuple[type[PravegaError], str]]] = {
    grpc.StatusCode.UNAUTHENTICATED: (AuthenticationError, _UNAUTHENTICATED),
    grpc.StatusCode.ALREADY_EXISTS: (AlreadyExistsError, "it exists already"),
    grpc.StatusCode.INVALID_ARGUMENT: (ConfigurationError, "the controller does not accept an argument"),
    grpc.StatusCode.OUT_OF_RANGE: (ConfigurationError, "the controller does not accept an argument"),
    grpc.StatusCode.UNIMPLEMENTED: (
        ProtocolError,
        "the server there does not know this call. Is it the controller of a Pravega of this or a newer version?",
    ),
    grpc.StatusCode.CANCELLED: (PravegaConnectionError, "the connection was closed meanwhile"),
}


def rpc_error(code: grpc.StatusCode, details: str, site: CallSite) -> PravegaError:
    """The error for a call that gRPC or the controller failed."""
    text = _in_brackets(details)
    tried = f"cannot {site.what} at {site.uri}"
    for peculiar in _PECULIAR:
        if peculiar.fits(site.method, code, details):
            return peculiar.error(f"{tried}: {peculiar.meaning}{text}")
    if code is grpc.StatusCode.UNAVAILABLE:
        return unreachable(details, site)
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return PravegaTimeoutError(
            f"{tried}: no answer within {site.timeout:g} s. Check the address, and that the cluster is healthy."
        )
    if code is grpc.StatusCode.NOT_FOUND:
        return site.missing(f"{tried}: it does not exist. Check the name; create it first if it is new.")
    kind, meaning = _BY_CODE.get(code, (ServerError, f"the controller failed with {code.name}; see its log"))
    return kind(f"{tried}: {meaning}{text}")


def wrong_scheme(site: CallSite) -> TlsError:
    """The error for a plain URI whose server turned out to speak TLS."""
    return TlsError(
        f"cannot {site.what} at {site.uri}: the server there speaks TLS. Use {_with_scheme(site.uri, 'tls')}."
    )


def _with_scheme(uri: str, scheme: str) -> str:
    return f"{scheme}://{uri.partition('://')[2]}"


def _in_brackets(details: str) -> str:
    """The server's words behind ours; nothing where it says none, as for a wrong password."""
    text = _shortened(details)
    return f" ({text})" if text else ""


def _shortened(details: str) -> str:
    line = next(iter(details.removeprefix(_TRACE_PREFIX).splitlines()), "").strip()
    return line if len(line) <= _LONGEST_DETAILS else f"{line[:_LONGEST_DETAILS]}…"


def unreachable(details: str, site: CallSite) -> PravegaError:
    """The reason for a failed connection; gRPC and Python's ssl give it in words only, which vary with versions."""
    text = _shortened(details)
    tried = f"cannot {site.what} at {site.uri}"
    if "WRONG_VERSION_NUMBER" in text:
        plain = _with_scheme(site.uri, "tcp")
        return TlsError(f"{tried}: the server there does not speak TLS. If that is intended, use {plain}.")
    if "Hostname Verification" in text or "Peer name" in text:
        return TlsError(
            f"{tried}: its certificate is trusted, but is for another name ({text}). Use the name in the certificate, "
            "or set verify_hostname=False."
        )
    # Older gRPC reports an authority of the same name with another key by the signature that does not fit.
    if "certificate" in text.lower() or "BAD_SIGNATURE" in text:
        return TlsError(
            f"{tried}: its certificate is not trusted ({text}). Give the file of the certificate authority that "
            "signed it as ca_file."
        )
    if "TSI_PROTOCOL_FAILURE" in text:
        return TlsError(f"{tried}: the TLS handshake failed ({text}). Check ca_file, and the server's TLS settings.")
    if "timed out" in text:
        return PravegaTimeoutError(
            f"{tried}: no answer{_in_brackets(details)}. Check the address, and that the cluster is healthy."
        )
    if any(word in text for word in ("resolv", "resolution", "lookup")):
        return PravegaConnectionError(f"{tried}: the name of the host is not known ({text}). Check the address.")
    return PravegaConnectionError(
        f"{tried}: no connection{_in_brackets(details)}. Check the address, and that the controller is running."
    )


# What an answer's status means, by its name: the statuses of all answers share their names.
_REFUSALS: Final[dict[str, tuple[type[PravegaError], str]]] = {
    "FAILURE": (ServerError, "the controller answered FAILURE; see its log"),
    "INTERNAL_ERROR": (ServerError, "the controller had an internal error; see its log"),
    "SCOPE_NOT_FOUND": (ScopeNotFoundError, "the scope does not exist; create it first"),
    "SCOPE_NOT_EMPTY": (
        ScopeNotEmptyError,
        "the scope is not empty; delete its streams, tables and reader groups first",
    ),
    "STREAM_NOT_FOUND": (StreamNotFoundError, "the stream does not exist"),
    "STREAM_SEALED": (StreamSealedError, "the stream is sealed, so it cannot change any more"),
    "STREAM_NOT_SEALED": (StreamNotSealedError, "the stream is not sealed; seal it first"),
    "TABLE_NOT_FOUND": (TableNotFoundError, "the key-value table does not exist"),
    "RG_NOT_FOUND": (ReaderGroupNotFoundError, "there is no such reader group"),
    "SUBSCRIBER_NOT_FOUND": (SubscriberNotFoundError, "it is not a subscriber of the stream; subscribe it first"),
    "STREAM_CUT_NOT_VALID": (
        InvalidStreamCutError,
        "the cut lies before the last one that was reported, or does not cover the stream",
    ),
    "TRANSACTION_NOT_FOUND": (TransactionError, "there is no such transaction"),
    "INVALID_SCOPE_NAME": (ConfigurationError, "the controller does not accept the name of the scope"),
    "INVALID_STREAM_NAME": (ConfigurationError, "the controller does not accept the name of the stream"),
    "INVALID_RG_NAME": (ConfigurationError, "the controller does not accept the name of the reader group"),
    "INVALID_TABLE_NAME": (ConfigurationError, "the controller does not accept the name of the key-value table"),
    "INVALID_TIME": (ConfigurationError, "the time is before one that this writer has noted already"),
    "INVALID_POSITION": (InvalidStreamCutError, "the position is before one that this writer has noted already"),
}


def status_name(statuses: EnumTypeWrapper, value: int) -> str:
    """The name of a status in an answer.

    Raises:
        ProtocolError: the controller is newer than this client, and so is this status.
    """
    try:
        return statuses.Name(value)
    except ValueError:
        raise ProtocolError(
            f"the controller answered {statuses.DESCRIPTOR.full_name} {value}, which this client does not know. "
            "Use a newer client."
        ) from None


def refusal(status: str, what: str) -> PravegaError:
    """The error for an answer whose status is not a success."""
    kind, meaning = _REFUSALS.get(status, (ServerError, f"the controller answered {status}"))
    return kind(f"cannot {what}: {meaning}")


def succeeded(statuses: EnumTypeWrapper, value: int, what: str, otherwise: str | None = None) -> bool:
    """True if the status of an answer is SUCCESS; False if it is the one that is also expected.

    Raises:
        PravegaError: it is another status; the error says what was tried.
    """
    status = status_name(statuses, value)
    if status not in ("SUCCESS", otherwise):
        raise refusal(status, what)
    return status == "SUCCESS"

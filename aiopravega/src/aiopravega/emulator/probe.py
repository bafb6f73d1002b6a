"""Ask a Pravega cluster whether it is ready: whatever a program does right after must work.

An open port proves little: the controller answers before the segment store has its containers. So a scope and a
stream are made and removed again, which needs both, and the segment store of that stream is called by its published
address.
"""

from pathlib import Path

import grpc

from aiopravega.config import PravegaConfig

_SERVICE = "/io.pravega.controller.stream.api.grpc.v1.ControllerService/"
_CALL_SECONDS = 10.0
SCOPE = "emulator-probe"


def _text(field: int, text: str) -> bytes:
    return bytes([field << 3 | 2, len(text)]) + text.encode()


def _message(field: int, body: bytes) -> bytes:
    return bytes([field << 3 | 2, len(body)]) + body


def pravega_problem(config: PravegaConfig) -> str | None:
    """None if ready, else what came back."""
    if config.tls:
        assert config.ca_file
        certificates = Path(config.ca_file).read_bytes()
        channel = grpc.secure_channel(config.controller_target, grpc.ssl_channel_credentials(certificates))
    else:
        channel = grpc.insecure_channel(config.controller_target)
    authorization = config.authorization()
    metadata = (("authorization", authorization),) if authorization else None

    def call(method: str, request: bytes) -> bytes:
        answer: bytes = channel.unary_unary(_SERVICE + method, None, None)(
            request, timeout=_CALL_SECONDS, metadata=metadata
        )
        return answer

    stream = _text(1, SCOPE) + _text(2, "s")
    try:
        with channel:
            call("createScope", _text(1, SCOPE))
            call("createStream", _message(1, stream) + _message(2, bytes([4 << 3, 1])))
            call("sealStream", stream)
            call("deleteStream", stream)
            call("deleteScope", _text(1, SCOPE))
    except grpc.RpcError as error:
        return str(error)
    return None

"""A controller that answers as a test says: real gRPC over real sockets, without Pravega after it."""

import datetime as dt
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from aiopravega import PravegaConfig
from aiopravega.control import Controller


@dataclass
class ScriptedController(grpc.GenericRpcHandler):  # type: ignore[type-arg]  # generic in the type stubs only
    """Gives the answers of a call one after the other, and the last one again and again.

    An answer is a message, a pair of gRPC status and details, or a function of the request that returns a message.
    """

    answers: dict[str, list[Any]] = field(default_factory=dict)
    requests: list[tuple[str, bytes]] = field(default_factory=list)
    metadata: list[dict[str, str | bytes]] = field(default_factory=list)
    port: int = 0

    def service(self, details):
        method = details.method.rpartition("/")[2]

        def handle(request, context):
            self.requests.append((method, request))
            self.metadata.append(dict(context.invocation_metadata()))
            script = self.answers[method]
            answer = script.pop(0) if len(script) > 1 else script[0]
            if isinstance(answer, tuple):
                context.abort(*answer)
            return (answer(request) if callable(answer) else answer).SerializeToString()

        return grpc.unary_unary_rpc_method_handler(handle)

    def calls(self, method):
        """The requests of one call, in their order, as bytes."""
        return [request for name, request in self.requests if name == method]


@dataclass(frozen=True)
class ServerCertificate:
    """PEM files of an authority, and of a server certificate that it signed."""

    ca_file: Path
    key: bytes
    chain: bytes


def _certificate(folder, *names):
    now = dt.datetime.now(dt.UTC)
    keys = [ec.generate_private_key(ec.SECP256R1()) for _ in range(2)]

    def signed(common_name, key, *extensions):
        subject, issuer = (
            x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, name)]) for name in (common_name, "test CA")
        )
        builder = (
            x509.CertificateBuilder(issuer, subject, key.public_key(), x509.random_serial_number())
            .not_valid_before(now - dt.timedelta(days=1))
            .not_valid_after(now + dt.timedelta(days=1))
        )
        for extension in extensions:
            builder = builder.add_extension(extension, critical=False)
        return builder.sign(keys[0], hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    folder.mkdir(exist_ok=True)
    ca_file = folder / "ca.pem"
    ca_file.write_bytes(signed("test CA", keys[0], x509.BasicConstraints(ca=True, path_length=None)))
    key = keys[1].private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return ServerCertificate(ca_file, key, signed("a server", keys[1], x509.SubjectAlternativeName(names)))


@pytest.fixture
def certificate(tmp_path):
    """Makes a certificate for names, from an authority of its own."""
    made: list[ServerCertificate] = []

    def make(*names):
        made.append(_certificate(tmp_path / str(len(made)), *names))
        return made[-1]

    return make


@pytest.fixture
def serve():
    """Starts scripted controllers; they end with the test."""
    servers = []

    def start(answers, certificate=None, port=0):
        scripted = ScriptedController(answers)
        server = grpc.server(ThreadPoolExecutor(2), options=[("grpc.so_reuseport", 0)])
        server.add_generic_rpc_handlers((scripted,))
        if certificate is None:
            scripted.port = server.add_insecure_port(f"127.0.0.1:{port}")
        else:
            credentials = grpc.ssl_server_credentials([(certificate.key, certificate.chain)])
            scripted.port = server.add_secure_port(f"127.0.0.1:{port}", credentials)
        server.start()
        servers.append(server)
        return scripted

    yield start
    for server in servers:
        server.stop(None).wait()


@pytest.fixture
async def connect():
    """Makes clients of a port here, with limits that a busy machine keeps; they end with the test."""
    controllers = []

    def make(port, scheme="tcp", host="127.0.0.1", **settings):
        limits = {"connect_timeout": 60.0, "request_timeout": 60.0, "retry_timeout": 60.0}
        config = PravegaConfig(controller_uri=f"{scheme}://{host}:{port}", **limits | settings)
        controllers.append(Controller(config))
        return controllers[-1]

    yield make
    for controller in controllers:
        await controller.close()

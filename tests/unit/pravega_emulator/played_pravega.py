"""Runs where the emulator starts Java, and plays Pravega or the Schema Registry on real sockets, without their data.

It reads the settings that the emulator wrote, listens on the ports in them, and answers as a server that is ready.
"""

import sys
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import BaseRequestHandler, ThreadingTCPServer
from threading import Thread

import grpc

from aiopravega.control.proto import controller_pb2 as pb


def settings_of(option: str) -> dict[str, str]:
    """The settings in the file that this option of Java names."""
    [file] = [word.removeprefix(option) for word in sys.argv if word.startswith(option)]
    return dict(line.split("=", 1) for line in Path(file).read_text().splitlines())


class Controller(grpc.GenericRpcHandler):  # type: ignore[type-arg]  # generic in the type stubs only
    """Says yes to everything; every stream has one segment, which is in the store at this port."""

    def __init__(self, store_port: int) -> None:
        segment = pb.SegmentRange(segmentId=pb.SegmentId(segmentId=0), minKey=0.0, maxKey=1.0)
        self._answers = {
            "getCurrentSegments": pb.SegmentRanges(segmentRanges=[segment]).SerializeToString(),
            "getURI": pb.NodeUri(endpoint="127.0.0.1", port=store_port).SerializeToString(),
        }

    def service(self, details):
        answer = self._answers.get(details.method.rpartition("/")[2], b"")  # no bytes at all mean success
        return grpc.unary_unary_rpc_method_handler(lambda _request, _context: answer)


def play_pravega() -> None:
    settings = settings_of("-Dsinglenode.configurationFile=")
    zookeeper_port, store_port = (int(settings[f"singlenode.{name}.port"]) for name in ("zk", "segmentStore"))
    for port in (zookeeper_port, store_port):
        listener = ThreadingTCPServer(("127.0.0.1", port), BaseRequestHandler)
        Thread(target=listener.serve_forever, daemon=True).start()
    server = grpc.server(ThreadPoolExecutor(2), options=[("grpc.so_reuseport", 0)])
    server.add_generic_rpc_handlers((Controller(store_port),))
    address = f"127.0.0.1:{settings['singlenode.controller.rpc.port']}"
    if key := settings.get("singlenode.security.tls.privateKey.location"):
        chain = settings["singlenode.security.tls.certificate.location"]
        pair = (Path(key).read_bytes(), Path(chain).read_bytes())
        server.add_secure_port(address, grpc.ssl_server_credentials([pair]))
    else:
        server.add_insecure_port(address)
    server.start()
    server.wait_for_termination()


def play_registry() -> None:
    port = int(settings_of("-Dconfig.file=")["schemaRegistry.service.rest.listener.port"])

    class Groups(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()

    ThreadingHTTPServer(("127.0.0.1", port), Groups).serve_forever()


if __name__ == "__main__":
    try:
        if "io.pravega.local.LocalPravegaEmulator" in sys.argv:
            play_pravega()
        else:
            play_registry()
    except OSError as error:
        sys.exit(f"java.net.BindException: {error.strerror}")

"""A proxy before the REST server of a Spark master, which loses the answer to a submission."""

import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Final, Self

_JSON: Final = "application/json;charset=UTF-8"


class RestProxy:
    """Hands requests on; the answer to the first submission is lost after `before_loss` has returned.

    `port` is where it listens, `lost` is set when the answer is lost.
    """

    def __init__(self, target: str, before_loss: Callable[[], object]) -> None:
        self.lost = threading.Event()
        sent = threading.Event()
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.hand_on(None)

            def do_POST(self) -> None:
                self.hand_on(self.rfile.read(int(self.headers.get("content-length") or 0)))

            def hand_on(self, body: bytes | None) -> None:
                request = urllib.request.Request(target + self.path, data=body, headers={"content-type": _JSON})
                try:
                    with urllib.request.urlopen(request, timeout=60) as answer:
                        status, content = answer.status, answer.read()
                except urllib.error.HTTPError as error:
                    status, content = error.code, error.read()
                if self.path.endswith("/create") and not sent.is_set():
                    sent.set()
                    before_loss()
                    self.close_connection = True
                    proxy.lost.set()
                    return
                self.send_response(status)
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

"""Small HTTP servers that play Flink's REST API and Debezium's health, with answers that a test sets."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Played:
    """A server: its address, its answers by path, and the headers of the last request."""

    def __init__(self, port: int) -> None:
        self.uri = f"http://127.0.0.1:{port}"
        self.answers: dict[str, tuple[int, Any]] = {}
        self.headers: dict[str, str] = {}
        # Seconds between bytes of an answer; 0: it is sent at once.
        self.pause = 0.0


@contextmanager
def played() -> Iterator[Played]:
    """A server on a free port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            server.headers = dict(self.headers)
            status, content = server.answers.get(self.path, (404, "no such path"))
            body = content.encode() if isinstance(content, str) else json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if not server.pause:
                self.wfile.write(body)
                return
            try:
                for at in range(len(body)):
                    self.wfile.write(body[at : at + 1])
                    self.wfile.flush()
                    time.sleep(server.pause)
            except OSError:
                return  # the client has gone

        def log_message(self, *arguments: Any) -> None:
            """Leave the log of the test clean."""

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listening.daemon_threads = True
    server = Played(listening.server_port)
    thread = threading.Thread(target=listening.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        listening.shutdown()
        listening.server_close()
        thread.join()


def flink_answers(name: str, state: str, *, started: int, acked: int | None = None, failed: int = 0) -> dict[str, Any]:
    """The answers of a Flink cluster with one job."""
    completed = None if acked is None else {"latest_ack_timestamp": acked, "external_path": "file:/checkpoints/7"}
    return {
        "/jobs/overview": (200, {"jobs": [{"jid": "ab12", "name": name, "state": state, "start-time": started}]}),
        "/jobs/ab12/checkpoints": (200, {"counts": {"failed": failed}, "latest": {"completed": completed}}),
        "/jobs/ab12/exceptions": (200, {"exceptionHistory": {"entries": []}}),
    }


def debezium_answers(status: str) -> dict[str, Any]:
    """The answer of a Debezium Server about its health."""
    code = 200 if status == "UP" else 503
    return {"/q/health": (code, {"status": status, "checks": [{"name": "debezium", "status": status}]})}

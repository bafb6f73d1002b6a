"""An API server of Kubernetes that tests play."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

NONE = {"kind": "Status", "reason": "NotFound", "message": 'pods "x" not found'}


class Server:
    """An API server with pods by their submissions; `answer` is what it says instead: a status and a text."""

    def __init__(self, answer=None):
        self.labelled: dict[str, list[dict[str, Any]]] = {}
        self.answer = answer
        self.asked: list[tuple[str, str, str | None]] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                self.rfile.read(int(self.headers.get("content-length") or 0))
                server.asked.append((self.command, self.path, self.headers.get("authorization")))
                status, text = server.answer or server.found(self.command, urlsplit(self.path))
                self.send_response(status)
                self.send_header("content-length", str(len(text.encode())))
                self.end_headers()
                self.wfile.write(text.encode())

            def do_DELETE(self):
                self.do_GET()

            def log_message(self, *_):
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"

    def found(self, method, address):
        assert address.path.startswith("/api/v1/namespaces/jobs/pods")
        if address.query:
            _, _, submission = parse_qs(address.query)["labelSelector"][0].partition("=")
            return 200, json.dumps({"items": self.labelled.get(submission, [])})
        name = address.path.rpartition("/")[2]
        for pods in self.labelled.values():
            for each in pods:
                if each["metadata"]["name"] == name:
                    if method == "DELETE":
                        pods.remove(each)
                    return 200, json.dumps(each)
        return 404, json.dumps(NONE)

    def __enter__(self):
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()


def pod(phase, name="job-driver", created="2026-11-29T00:00:00Z"):
    about = {"name": name, "namespace": "jobs", "creationTimestamp": created}
    return {"metadata": about, "spec": {"containers": [{"name": "driver"}]}, "status": {"phase": phase}}

"""An HTTP proxy before a server of object stores or catalogs, which does to chosen requests what networks do.

It is a process of its own: libraries of tables hold Python's lock while they wait for an answer.
"""

import http.client
import json
import os
import re
import signal
import sys
import threading
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from tests.faults.process import ProcessTree, wait_until
from tests.system.servers import start_server

_PLAN: Final = "/-/plan"
_SLOW_SECONDS: Final = 0.3
_ANSWER_SECONDS: Final = 60.0
_BUSY: Final = b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"
_FAILED: Final = b"<Error><Code>InternalError</Code><Message>We encountered an internal error.</Message></Error>"
_CONDITION: Final = "If-None-Match"
# Headers of one connection, and those that the proxy writes itself.
_OWN: Final = frozenset({"connection", "keep-alive", "transfer-encoding", "content-length", "expect"})


class Fault(StrEnum):
    """A fault of a request. But for the first three, the server does what was asked."""

    BUSY = "503 SlowDown"
    CUT = "cut before it"
    KILL_BEFORE = "killed before it"
    SLOW = "slow"
    LOST = "answer lost"
    HALF = "answer cut"
    FAILED = "500 after it"
    # Something between sends it again, as libraries do that have lost the answer: the second answer arrives.
    TWICE = "sent twice"
    KILL_AFTER = "killed after it"
    # As stores and gateways do that know no conditional writes.
    UNCONDITIONAL = "its condition left out"


class S3Proxy:
    """A running proxy; use it as a context manager. What it says goes to `log`.

    Args:
        target: the address of the server.
        port: a free port.
        log: a file.
    """

    def __init__(self, target: str, port: int, log: Path) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self._command = [sys.executable, "-m", "tests.faults.s3_proxy", target, str(port)]
        self._log = log
        self._process: ProcessTree

    def plan(
        self, fault: Fault | None = None, at: int = 0, *, times: int = 1, of: str = "", victim: int | None = None
    ) -> None:
        """Forget what was planned and seen, and do something to the next requests.

        Args:
            fault: the fault; None: all requests are passed.
            at: the number of the first request that has it, from 0 on.
            times: so many requests have it.
            of: a regular expression: only requests (`PUT /bucket/name`) in which it is found are counted.
            victim: the id of the process that is killed.
        """
        about = {"fault": fault, "at": at, "times": times, "of": of, "victim": victim}
        urlopen(Request(f"{self.url}{_PLAN}", json.dumps(about).encode(), method="POST")).close()

    def seen(self) -> tuple[list[str], list[str]]:
        """The requests that were counted since the plan was made, and those of them that had the fault."""
        with urlopen(f"{self.url}{_PLAN}") as answer:
            counted, struck = json.loads(answer.read())
        return counted, struck

    def __enter__(self) -> Self:
        self._process = start_server(self._command, self._log, dict(os.environ))
        wait_until(self._answers, self._process.said, every=0.1)
        return self

    def _answers(self) -> bool:
        try:
            self.seen()
        except URLError:
            return False
        return True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.process.kill()
        self._process.process.wait()


class _Plan:
    """The plan, and what it has seen."""

    def __init__(self, fault: str | None, at: int, times: int, of: str, victim: int | None) -> None:
        self.fault = None if fault is None else Fault(fault)
        self.numbers, self.of, self.victim = range(at, at + times), re.compile(of), victim
        self.counted, self.struck = list[str](), list[str]()
        self.lock = threading.Lock()

    def next(self, request: str) -> Fault | None:
        """The fault of the request that comes now."""
        with self.lock:
            if self.of.search(request) is None:
                return None
            self.counted.append(request)
            if self.fault is None or len(self.counted) - 1 not in self.numbers:
                return None
            self.struck.append(request)
            return self.fault

    def kill(self) -> None:
        """Kill the process whose request it is."""
        assert self.victim is not None
        os.kill(self.victim, signal.SIGKILL)


class _Handler(BaseHTTPRequestHandler):
    target: str
    plan = _Plan(None, 0, 0, "", None)
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        """Pass a request, or do what was planned."""
        body, path = self._body(), urlsplit(self.path).path
        if path == _PLAN:
            self._planned(body)
            return
        fault = self.plan.next(f"{self.command} {path}")
        if fault is Fault.KILL_BEFORE:
            self.plan.kill()
        if fault is Fault.BUSY:
            self._answer(503, [("Content-Type", "application/xml")], _BUSY)
        if fault in (Fault.BUSY, Fault.CUT, Fault.KILL_BEFORE):
            self.close_connection = True
            return
        if fault is Fault.SLOW:
            threading.Event().wait(_SLOW_SECONDS)
        if fault is Fault.TWICE:
            self._passed(body)
        if fault is Fault.UNCONDITIONAL:
            del self.headers[_CONDITION]
        status, headers, answer = self._passed(body)
        if fault is Fault.KILL_AFTER:
            self.plan.kill()
        if fault in (Fault.LOST, Fault.KILL_AFTER) or (fault is Fault.HALF and not answer):
            self.close_connection = True
        elif fault is Fault.FAILED:
            self._answer(500, [("Content-Type", "application/xml")], _FAILED)
        else:
            self._answer(status, headers, answer, half=fault is Fault.HALF)

    do_HEAD = do_PUT = do_POST = do_DELETE = do_GET  # noqa: N815  the library finds them by these names

    def log_message(self, *args: Any) -> None:
        """Say nothing about each request."""

    def _planned(self, body: bytes) -> None:
        answer = json.dumps([self.plan.counted, self.plan.struck]).encode()
        if body:
            type(self).plan = _Plan(**json.loads(body))
        self._answer(200, [], answer)

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        found = b""
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            found += self.rfile.read(size)
            self.rfile.readline()
        while self.rfile.readline().strip():
            continue  # headers behind the body
        return found

    def _passed(self, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        connection = http.client.HTTPConnection(self.target, timeout=_ANSWER_SECONDS)
        headers = {name: value for name, value in self.headers.items() if name.lower() not in _OWN}
        if body or self.command in ("PUT", "POST"):
            headers["Content-Length"] = str(len(body))
        try:
            connection.request(self.command, self.path, body or None, headers)
            answer = connection.getresponse()
            whole = answer.read()
            kept = [(name, value) for name, value in answer.getheaders() if name.lower() not in _OWN]
            size = answer.getheader("Content-Length")
            if self.command == "HEAD" and size is not None:
                kept.append(("Content-Length", size))
            return answer.status, kept, whole
        finally:
            connection.close()

    def _answer(self, status: int, headers: list[tuple[str, str]], body: bytes, *, half: bool = False) -> None:
        self.send_response_only(status)
        for name, value in headers:
            self.send_header(name, value)
        if self.command != "HEAD" and status != http.client.NO_CONTENT:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body[: len(body) // 2] if half else body)
        if half:
            self.close_connection = True


def main(target: str, port: int) -> None:
    _Handler.target = urlsplit(target).netloc
    ThreadingHTTPServer(("127.0.0.1", port), _Handler).serve_forever()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))

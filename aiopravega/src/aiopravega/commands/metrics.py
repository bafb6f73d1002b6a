"""The command `pravega metrics`: numbers about a scope as Prometheus reads them, once or by HTTP.

Format: Prometheus's text format 0.0.4. Numbers are asked for when somebody asks for them, and by one caller at a time.
"""

import argparse
import asyncio
from collections.abc import Sequence
from typing import Final

from aiopravega.client import PravegaClient
from aiopravega.commands.common import add_controller, run, scopes_of
from aiopravega.errors import ConfigurationError, PravegaError
from aiopravega.intervals.reports.gauges import GAUGES, Sample, gauges

_CONTENT: Final = "text/plain; version=0.0.4; charset=utf-8"
_LONGEST_REQUEST: Final = 16 * 1024
# Prometheus waits for 10 s by default; a caller that sends nothing is dropped.
_ASK_SECONDS: Final = 30.0
_ESCAPES: Final = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code: 2 after an error."""
    parser = argparse.ArgumentParser(
        prog="pravega metrics", description="Lag of reader groups and consumers, and sizes of streams, for Prometheus."
    )
    add_controller(parser)
    parser.add_argument("scopes", nargs="*", metavar="SCOPE", help="default: PRAVEGA_SCOPE")
    parser.add_argument("--serve", type=int, metavar="PORT", help="answer GET /metrics on this port, until interrupted")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on with --serve (127.0.0.1)")
    parser.set_defaults(action=_act)
    return run(parser.parse_args(arguments))


async def _act(client: PravegaClient, options: argparse.Namespace) -> int:
    scopes = scopes_of(client, options.scopes)
    if options.serve is None:
        print(await _text(client, scopes), end="")
        return 0
    endpoint = _Endpoint(client, scopes)
    try:
        server = await asyncio.start_server(endpoint.answer, options.host, options.serve, limit=_LONGEST_REQUEST)
    except (OSError, OverflowError) as error:
        raise ConfigurationError(f"cannot listen on {options.host}:{options.serve}: {error}") from error
    host, port = server.sockets[0].getsockname()[:2]
    print(f"metrics of {', '.join(scopes)}: http://{host}:{port}/metrics", flush=True)
    async with server:
        await server.serve_forever()
    return 0


async def _text(client: PravegaClient, scopes: Sequence[str]) -> str:
    samples = [sample for scope in scopes for sample in await gauges(client, scope)]
    return exposition(samples)


def exposition(samples: Sequence[Sample]) -> str:
    """Numbers in Prometheus's text format; a gauge that has none is left out."""
    lines = []
    for gauge, what in GAUGES.items():
        of = [sample for sample in samples if sample.gauge == gauge]
        if of:
            lines += [f"# HELP {gauge} {what}", f"# TYPE {gauge} gauge"]
            lines += [f"{gauge}{{{_labels(sample)}}} {int(sample.value)}" for sample in of]
    return "".join(f"{line}\n" for line in lines)


def _labels(sample: Sample) -> str:
    return ",".join(f'{name}="{value.translate(_ESCAPES)}"' for name, value in sample.labels.items())


class _Endpoint:
    """Answers requests; each connection is for one."""

    def __init__(self, client: PravegaClient, scopes: Sequence[str]) -> None:
        self._client = client
        self._scopes = scopes
        self._turn = asyncio.Lock()

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Read a request, and answer it."""
        try:
            async with asyncio.timeout(_ASK_SECONDS):
                request = await reader.readuntil(b"\r\n\r\n")
                status, body = await self._body(request.split(b" ", 2))
                head = f"HTTP/1.1 {status}\r\nContent-Type: {_CONTENT}\r\nContent-Length: {len(body)}\r\n"
                writer.write(f"{head}Connection: close\r\n\r\n".encode() + body)
                await writer.drain()
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # a caller that is gone, too slow, or speaks no HTTP
        finally:
            writer.close()

    async def _body(self, words: Sequence[bytes]) -> tuple[str, bytes]:
        if list(words[:2]) not in ([b"GET", b"/metrics"], [b"GET", b"/"]):
            return "404 Not Found", b"GET /metrics\n"
        try:
            async with self._turn:
                return "200 OK", (await _text(self._client, self._scopes)).encode()
        except PravegaError as error:
            return "503 Service Unavailable", f"{type(error).__name__}: {error}\n".encode()

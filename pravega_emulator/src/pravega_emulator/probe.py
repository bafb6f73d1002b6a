"""Ask a Pravega cluster whether it is ready: all requests right after that must work.

An open port proves little: the controller answers before the segment store has its containers. So a stream is made and
removed again, with more segments than there are containers, and its segment store is called at its published address.
A ZooKeeper on this machine is asked by its four-letter commands.
"""

import asyncio
import socket
from concurrent.futures import ThreadPoolExecutor

from aiopravega.config import PravegaConfig
from aiopravega.control import Controller, ScalingPolicy, StreamConfiguration
from aiopravega.errors import PravegaError
from aiopravega.names import StreamName

# Internal, by the underscore: users do not see it among their scopes.
_STREAM = StreamName("_emulator", "probe")
# With 4 containers at most, it is all but certain that each gets one of so many segments.
_SEGMENTS = 32
_ANSWER_SECONDS = 10.0
_WORD_SECONDS = 5.0
_CHUNK = 65536
_SHOWN = 200  # characters of an answer in a message


def pravega_problem(config: PravegaConfig) -> str | None:
    """The reason why the cluster is not ready; None if it is. May be called while an event loop runs."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, _problem(config)).result()


async def _problem(config: PravegaConfig) -> str | None:
    impatient = config.model_copy(update={"request_timeout": _ANSWER_SECONDS, "retry_timeout": 0.0})
    controller = Controller(impatient)
    try:
        await controller.create_scope(_STREAM.scope)
        is_new = await controller.create_stream(_STREAM, StreamConfiguration(ScalingPolicy.fixed(_SEGMENTS)))
        if is_new:
            segments = await controller.current_segments(_STREAM)
            endpoint = await controller.endpoint(segments[0].segment)
            socket.create_connection((endpoint.host, endpoint.port), timeout=_ANSWER_SECONDS).close()
        await controller.seal_stream(_STREAM)
        await controller.delete_stream(_STREAM)
    except (PravegaError, OSError) as error:
        return str(error)
    finally:
        await controller.close()
    return None if is_new else "an earlier question had got stuck half way"


def zookeeper_problem(port: int) -> str | None:
    """The answer of a ZooKeeper that does not serve; None if it serves.

    `ruok` would not do: it is answered while the data are still read.
    """
    return _problem_of_word(port, b"srvr", "Mode:")


def bookie_problem(port: int, bookie_port: int) -> str | None:
    """None if a bookie of this port is registered."""
    return _problem_of_word(port, b"dump", _entry(bookie_port))


def old_bookie_problem(port: int, bookie_port: int) -> str | None:
    """A text if a bookie of this port is still registered, so that a new one would give up; None if there is none.

    The entry of one that was killed stays until ZooKeeper ends its session.
    """
    # A ZooKeeper that does not serve yet has no entries to show: wait until it serves.
    problem = _problem_of_word(port, b"dump", "ephemeral nodes dump:")
    if problem is None and bookie_problem(port, bookie_port) is None:
        return f"ZooKeeper still has {_entry(bookie_port).strip()}"
    return problem


def _entry(bookie_port: int) -> str:
    return f"/ledgers/available/127.0.0.1:{bookie_port}\n"


def _problem_of_word(port: int, word: bytes, expected: str) -> str | None:
    try:
        answer = _ask(port, word).decode(errors="replace")
    except OSError as error:
        return f"ZooKeeper does not answer on port {port}: {error}"
    return None if expected in answer else f"ZooKeeper answered {answer[:_SHOWN]!r}, without {expected.strip()!r}"


def _ask(port: int, word: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=_WORD_SECONDS) as connection:
        connection.sendall(word)
        answer = b""
        while chunk := connection.recv(_CHUNK):
            answer += chunk
    return answer

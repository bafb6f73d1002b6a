"""Questions to a ZooKeeper on this machine, by its four-letter commands."""

import socket

_ANSWER_SECONDS = 5.0
_CHUNK = 65536


def zookeeper_problem(port: int) -> str | None:
    """None if it serves, else what came back."""
    try:
        answer = _ask(port, b"ruok")
    except OSError as error:
        return f"ZooKeeper does not answer on port {port}: {error}"
    return None if answer == b"imok" else f"ZooKeeper answered {answer!r}"


def bookie_problem(port: int, bookie_port: int) -> str | None:
    """None if no bookie of this port is registered; else a bookie that starts now would give up.

    The entry of one that was killed stays until ZooKeeper ends its session.
    """
    try:
        answer = _ask(port, b"dump")
    except OSError as error:
        return f"ZooKeeper does not answer on port {port}: {error}"
    entry = f"/ledgers/available/127.0.0.1:{bookie_port}"
    return f"ZooKeeper still has {entry}" if entry in answer.decode(errors="replace").split() else None


def _ask(port: int, word: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=_ANSWER_SECONDS) as connection:
        connection.sendall(word)
        answer = b""
        while chunk := connection.recv(_CHUNK):
            answer += chunk
    return answer

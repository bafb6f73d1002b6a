"""Questions to a ZooKeeper on this machine, by its four-letter commands."""

import socket

_ANSWER_SECONDS = 5.0
_CHUNK = 65536
_SHOWN = 200  # characters of an answer in a message


def zookeeper_problem(port: int) -> str | None:
    """The answer of a ZooKeeper that does not serve; None if it serves.

    `ruok` would not do: it is answered while the data are still read.
    """
    return _problem(port, b"srvr", "Mode:")


def bookie_problem(port: int, bookie_port: int) -> str | None:
    """None if a bookie of this port is registered."""
    return _problem(port, b"dump", _entry(bookie_port))


def old_bookie_problem(port: int, bookie_port: int) -> str | None:
    """A text if a bookie of this port is still registered, so that a new one would give up; None if there is none.

    The entry of one that was killed stays until ZooKeeper ends its session.
    """
    # A ZooKeeper that does not serve yet has no entries to show: wait until it serves.
    problem = _problem(port, b"dump", "ephemeral nodes dump:")
    if problem is None and bookie_problem(port, bookie_port) is None:
        return f"ZooKeeper still has {_entry(bookie_port).strip()}"
    return problem


def _entry(bookie_port: int) -> str:
    return f"/ledgers/available/127.0.0.1:{bookie_port}\n"


def _problem(port: int, word: bytes, expected: str) -> str | None:
    try:
        answer = _ask(port, word).decode(errors="replace")
    except OSError as error:
        return f"ZooKeeper does not answer on port {port}: {error}"
    return None if expected in answer else f"ZooKeeper answered {answer[:_SHOWN]!r}, without {expected.strip()!r}"


def _ask(port: int, word: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=_ANSWER_SECONDS) as connection:
        connection.sendall(word)
        answer = b""
        while chunk := connection.recv(_CHUNK):
            answer += chunk
    return answer

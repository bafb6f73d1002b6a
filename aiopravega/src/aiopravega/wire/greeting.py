"""The greeting of every connection: the versions of the protocol that each side speaks."""

from typing import Final

from aiopravega.errors import ProtocolError
from aiopravega.wire.command import Command
from aiopravega.wire.commands import Hello

# Pravega 0.13.0 answers (16, 5); main, of 2025, speaks up to 17.
HELLO: Final = Hello(high_version=18, low_version=5)


def check_hello(answer: Command, server: object) -> None:
    """See that `server` answered our `HELLO` with versions that overlap ours.

    Raises:
        ProtocolError: they do not, or the answer is another command.
    """
    if not isinstance(answer, Hello):
        raise ProtocolError(
            f"{server} began with {type(answer).__name__} and not with Hello: it is not a segment store"
        )
    if answer.low_version > HELLO.high_version or answer.high_version < HELLO.low_version:
        raise ProtocolError(
            f"{server} speaks versions {answer.low_version} to {answer.high_version} of Pravega's protocol, this "
            f"client {HELLO.low_version} to {HELLO.high_version}: they do not fit together"
        )

"""Looks for secrets where they must not be: in files, in what programs say, in the command lines of all processes."""

import base64
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_PAUSE_SECONDS: Final = 0.1


def canaries(accounts: Mapping[str, str]) -> list[bytes]:
    """The passwords of accounts, by their names, as they are and as Basic authentication sends them."""
    texts = [text for name, password in accounts.items() for text in (password, _basic(name, password))]
    return [text.encode() for text in texts]


def _basic(name: str, password: str) -> str:
    # The padding may be missing where an encoding of a longer text has it.
    return base64.b64encode(f"{name}:{password}".encode()).decode().rstrip("=")


def files_with(secrets: list[bytes], folder: Path) -> list[Path]:
    """The files below a folder that have one of some secrets."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files, f"{folder} has no files"
    return [path for path in files if has(secrets, _content(path))]


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:  # it was removed since
        return b""


def has(secrets: list[bytes], text: bytes) -> bool:
    """Whether a text has one of some secrets."""
    return any(secret in text for secret in secrets)


class CommandLines:
    """The command lines of all processes that were seen, those with a secret by themselves."""

    def __init__(self, secrets: list[bytes]) -> None:
        self._secrets = secrets
        self.seen: set[bytes] = set()
        self.with_secret: set[bytes] = set()

    def read(self) -> None:
        """Read them all once."""
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                line = path.read_bytes()
            except OSError:  # it has ended
                continue
            self.seen.add(line)
            if has(self._secrets, line):
                self.with_secret.add(line)


@contextmanager
def command_lines_watched(secrets: list[bytes]) -> Iterator[CommandLines]:
    """Read the command lines of all processes again and again, as long as the block runs."""
    lines, ended = CommandLines(secrets), threading.Event()

    def watch() -> None:
        while not ended.wait(_PAUSE_SECONDS):
            lines.read()

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield lines
    finally:
        ended.set()
        thread.join()

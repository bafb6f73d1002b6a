"""The command `pravega write`: lines of standard input or of files become events, or each file is one."""

import asyncio
import json
import os
import sys
import threading
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import aclosing
from pathlib import Path
from typing import BinaryIO, Final

import click

from aiopravega.client import PravegaClient
from aiopravega.commands.common import STREAM, Option, Options, show, stream_of, verb
from aiopravega.errors import ConfigurationError, PravegaError
from aiopravega.sizes import MAX_EVENT
from aiopravega.write.transaction import Transaction
from aiopravega.write.writer import EventWriter

_CHUNK: Final = 256 * 1024
_STDIN: Final = 0
# An event with its routing key.
Keyed = tuple[bytes, str | None]


@verb(
    None,
    "write",
    STREAM,
    Option(
        ["--file", "files"],
        type=click.Path(path_type=Path),
        multiple=True,
        help="read this file instead of standard input; may be given several times",
    ),
    Option(["--whole"], is_flag=True, help="each file is one event; default: each line is one"),
    Option(["--key"], help="routing key of all events; default: none, so they have no order"),
    Option(["--key-separator"], metavar="TEXT", help="a line is a routing key, this text, and the event"),
    Option(["--key-field"], metavar="NAME", help="events are JSON, and this field is the routing key"),
    Option(["--transaction"], is_flag=True, help="write all events or none; readers see them at the end"),
)
async def command(client: PravegaClient, options: Options) -> int:
    """Write events to a stream: a line of standard input or of files is an event, without its end.

    It says how many were written, also after an error. Files are checked before the first event is written.
    """
    key_of = _key_of(options)
    if options.whole and (not options.files or options.key_separator is not None):
        raise ConfigurationError("--whole goes with --file, and not with --key-separator")
    for file in options.files:
        if file.exists() and not (file.is_file() or file.is_dir()):
            # The check would take what a pipe gives, and nothing would be left to write.
            raise ConfigurationError(f"{file} is a pipe or a device, which can be read once only: use standard input")
        for batch in _batches(file, options):
            for number, data in batch:
                key_of(data, f"{file}:{number}")
    stream = stream_of(client, options)
    progress = _Progress()
    try:
        if options.transaction:
            async with client.transaction(stream) as transaction:
                await _write(transaction, options, key_of, progress)
        else:
            async with client.writer(stream, large_events=options.whole) as writer:
                await _write(writer, options, key_of, progress)
    except (PravegaError, asyncio.CancelledError):
        click.echo(progress.text(is_atomic=options.transaction), err=True)
        raise
    return show(options, {"stream": str(stream), "written": progress.sent}, f"{progress.sent} events are written")


class _Progress:
    """The numbers of events that are sent, and that surely are in the stream; and the line of the last one sent."""

    def __init__(self) -> None:
        self.sent = self.durable = 0
        self.line = self.durable_line = ""

    def text(self, *, is_atomic: bool) -> str:
        if is_atomic:
            return "nothing is written: the transaction is not committed"
        until = f", up to {self.durable_line}" if self.durable else ""
        open_ones = self.sent - self.durable
        maybe = f"; of the next {open_ones}, up to {self.line}, some or all may be" if open_ones else ""
        return f"{self.durable} events are written{until}{maybe}"


async def _write(
    writer: EventWriter | Transaction, options: Options, key_of: Callable[[bytes, str], Keyed], progress: _Progress
) -> None:
    for file in options.files:
        for batch in _batches(file, options):
            await _write_batch(writer, batch, str(file), key_of, progress)
    if options.files:
        return
    if sys.stdin.isatty():
        click.echo("a line is an event; Ctrl-D ends", err=True)
    async with aclosing(_of_stdin()) as batches:
        async for batch in batches:
            await _write_batch(writer, batch, "line", key_of, progress)


async def _write_batch(
    writer: EventWriter | Transaction,
    batch: Sequence[tuple[int, bytes]],
    file: str,
    key_of: Callable[[bytes, str], Keyed],
    progress: _Progress,
) -> None:
    for number, text in batch:
        line = f"{file}:{number}"
        data, key = key_of(text, line)
        await writer.write(data, key)
        progress.sent, progress.line = progress.sent + 1, line
    await writer.flush()
    progress.durable, progress.durable_line = progress.sent, progress.line


def _key_of(options: Options) -> Callable[[bytes, str], Keyed]:
    """The function that takes a line apart.

    Raises:
        ConfigurationError: the options name several ways.
    """
    given = [name for name in ("key", "key_separator", "key_field") if getattr(options, name) is not None]
    if len(given) > 1:
        raise ConfigurationError("give one of --key, --key-separator and --key-field")
    if options.key_separator == "":
        raise ConfigurationError("--key-separator is empty: give a text, such as ':'")
    if options.key_separator is not None:
        separator = options.key_separator.encode()

        def split(data: bytes, line: str) -> Keyed:
            key, found, event = data.partition(separator)
            if not found:
                raise ConfigurationError(f"{line} has no {options.key_separator!r} between a key and an event")
            return event, _text(key, line)

        return split
    if options.key_field is not None:
        return lambda data, line: (data, _field(data, options.key_field, line))
    return lambda data, _: (data, options.key)


def _field(data: bytes, name: str, line: str) -> str:
    try:
        value = json.loads(data)
    except ValueError as error:
        raise ConfigurationError(f"{line} is not JSON ({error}), so that it has no --key-field") from None
    key = value.get(name) if isinstance(value, dict) else None
    if isinstance(key, bool) or not isinstance(key, str | int):
        raise ConfigurationError(f"{line} has no field {name!r} with a text or a whole number")
    return str(key)


def _text(key: bytes, line: str) -> str:
    try:
        return key.decode()
    except UnicodeDecodeError:
        raise ConfigurationError(f"{line} has a routing key that is not UTF-8") from None


def _batches(file: Path, options: Options) -> Iterator[list[tuple[int, bytes]]]:
    """The events of a file, with the numbers of their lines."""
    try:
        with file.open("rb", buffering=0) as source:
            if options.whole:
                yield [(1, source.read())]
            else:
                yield from _lines(source)
    except OSError as error:
        raise ConfigurationError(f"cannot read {file}: {error}") from error


def _lines(source: BinaryIO) -> Iterator[list[tuple[int, bytes]]]:
    """The lines of a source as they come, with their numbers; many at a time, so that memory is bounded."""
    rest, number = b"", 1
    while chunk := source.read(_CHUNK):
        *whole, rest = (rest + chunk).split(b"\n")
        if len(rest) > MAX_EVENT:
            raise ConfigurationError(f"line {number + len(whole)} has more than the {MAX_EVENT:,} bytes of an event")
        if whole:
            yield list(enumerate(whole, number))
        number += len(whole)
    if rest:
        yield [(number, rest)]


async def _of_stdin() -> AsyncGenerator[list[tuple[int, bytes]], None]:
    """The lines of standard input.

    A thread waits for them, so that events are sent and a transaction lives meanwhile. The thread may wait forever: it
    does not keep the process.
    """
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[list[tuple[int, bytes]] | BaseException | None] = asyncio.Queue(maxsize=1)

    def put(item: list[tuple[int, bytes]] | BaseException | None) -> None:
        asyncio.run_coroutine_threadsafe(queue.put(item), loop).result()

    def read() -> None:
        try:
            with os.fdopen(_STDIN, "rb", buffering=0, closefd=False) as source:
                for batch in _lines(source):
                    put(batch)
            put(None)
        except (OSError, PravegaError) as error:
            put(error)
        except (RuntimeError, CancelledError):
            return  # the loop has ended

    threading.Thread(target=read, name="stdin", daemon=True).start()
    while (item := await queue.get()) is not None:
        if isinstance(item, BaseException):
            raise item
        yield item

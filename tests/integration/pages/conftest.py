"""Runs the code of a page, block by block, as one program. All pages share a server, its registry and a Spark."""

import ast
import asyncio
import inspect
import linecache
import shlex
import uuid
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, Self

import pytest
from pyspark.sql import DataFrame, SparkSession
from tests.pages.blocks import blocks_of, typed_on
from tests.pages.elsewhere import BLOCKS_ELSEWHERE, NOT_RUN

import aiopravega
from aiopravega.blocking import PravegaClient
from aiopravega.commands.main import main
from pravega_emulator.server import PravegaServer


class Page:
    """A page, and the names that its code has made.

    Args:
        name: that of `tests.pages.blocks`.
        replaced: texts of the page, such as addresses, and what the test has instead.
    """

    def __init__(self, name: str, replaced: dict[str, str]) -> None:
        self.name = name
        self.names: dict[str, Any] = {}
        self._replaced = replaced
        self._loop = asyncio.Runner()
        elsewhere = BLOCKS_ELSEWHERE.keys() | NOT_RUN.keys()
        self.left = {block.number: block for block in blocks_of(name) if block.name not in elsewhere}

    def __enter__(self) -> Self:
        self._loop.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.__exit__(None, None, None)

    def replace(self, text: str) -> str:
        """A text of the page as this test needs it."""
        for old, new in self._replaced.items():
            text = text.replace(old, new)
        return text

    def wait(self, work: Coroutine[Any, Any, Any]) -> Any:
        """What a coroutine returns, in the event loop of the page's own `await`."""
        return self._loop.run(work)

    def connect(self) -> aiopravega.PravegaClient:
        """Give the page a client of asyncio, as `client`."""

        async def connect() -> aiopravega.PravegaClient:
            return await aiopravega.PravegaClient().__aenter__()

        connected: aiopravega.PravegaClient = self.wait(connect())
        self.give(client=connected)
        return connected

    def give(self, **names: Any) -> "Page":
        """Give what the page leaves to its reader."""
        self.names |= names
        return self

    def run(self, *numbers: int) -> "Page":
        """Run some blocks, or all that are left."""
        for number in numbers or list(self.left):
            block = self.left.pop(number)
            if block.language == "sql":
                for statement in filter(str.strip, self.replace(block.code).split(";")):
                    self.names["spark"].sql(statement).collect()
            elif block.language == "python":
                self._execute(f"<{block.name}>", self.replace(block.code))
            else:
                self._type(block.code)
        return self

    def command(self, start: str) -> tuple[str, int]:
        """Type the command on the page that starts so; the command, and its exit code."""
        typed = "\n".join(map(_joined, typed_on(self.name)))
        [line] = [line for line in map(str.strip, typed.splitlines()) if line.removeprefix("$ ").startswith(start)]
        return line, self._type(line.removeprefix("$ "))

    def _type(self, code: str) -> int:
        """Type commands; the exit code of the last one."""
        result = 0
        for line in filter(str.strip, self.replace(_joined(code)).splitlines()):
            program, *words = shlex.split(line, comments=True)
            assert program == "pravega", line
            result = main(words)
        return result

    def _execute(self, name: str, code: str) -> None:
        # So that an error shows the line.
        linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
        compiled = compile(code, name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        done = eval(compiled, self.names)
        if inspect.iscoroutine(done):
            self.wait(done)


def _joined(code: str) -> str:
    return code.replace("\\\n", " ")


OpenPage = Callable[..., Page]


@pytest.fixture
def scope(client: PravegaClient) -> str:
    """The scope that a page calls `examples`: letters and digits, for the names of Avro and SQL."""
    name = f"examples{uuid.uuid4().hex}"
    assert client.create_scope(name)
    return name


@pytest.fixture
def open_page(
    scope: str,
    pravega_emulator: PravegaServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[OpenPage]:
    """Opens a page in a folder of its own, with the plain server and its registry; fails if a block was left out."""
    registry = pravega_emulator.schema_registry_uri
    assert registry is not None
    monkeypatch.setenv("PRAVEGA_CONTROLLER_URI", pravega_emulator.controller_uri)
    monkeypatch.setenv("PRAVEGA_SCHEMA_REGISTRY_URI", registry)
    monkeypatch.chdir(tmp_path)
    replaced = {
        "examples": scope,
        "http://registry:9092": registry,
        "https://registry:9092": registry,
        "tcp://localhost:9090": pravega_emulator.controller_uri,
        "tcp://pravega:9090": pravega_emulator.controller_uri,
        "/data": str(tmp_path),
        # The processes of Spark have the environment in which the Spark of all tests was started.
        '.format("pravega")': f'.format("pravega").option("controller", "{pravega_emulator.controller_uri}")',
    }
    opened: list[Page] = []

    def open_page(name: str, **more: str) -> Page:
        opened.append(Page(name, replaced | more))
        return opened[-1].__enter__()

    yield open_page
    for page in opened:
        page.__exit__()
        assert page.left == {}, f"{page.name}: blocks that this test has not run"


@pytest.fixture
def fill(client: PravegaClient, scope: str) -> Callable[..., None]:
    """Writes events into a stream, which it makes if it is not there."""

    def fill(stream: str, *events: bytes) -> None:
        client.create_stream(f"{scope}/{stream}")
        with client.writer(f"{scope}/{stream}") as writer:
            writer.write_many(list(events), [str(number) for number in range(len(events))])

    return fill


@pytest.fixture
def read(spark: SparkSession, scope: str, pravega_emulator: PravegaServer) -> Callable[..., DataFrame]:
    """A DataFrame of a stream in the page's scope, with options."""

    def read(stream: str, **options: str) -> DataFrame:
        reader = spark.read.format("pravega").option("controller", pravega_emulator.controller_uri)
        return reader.options(scope=scope, stream=stream, **options).load()

    return read

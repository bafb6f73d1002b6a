"""Stops a real process at a named point: it dies there, or waits until it is killed or sent on.

It waits as a whole; or only the write does (`linger`), while whatever else the process does continues.

Every process of a job loads this (see `sitecustomize`). It wraps functions of the real code when their modules are
imported, as the file named by FAULT_PLAN says: a folder, faults by stream, clock skew in seconds, and the ports of
proxies. A fault strikes once, at the n-th time that any process of the job comes to its point.
"""

import asyncio
import contextvars
import functools
import importlib.abc
import importlib.machinery
import inspect
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta, tzinfo
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from tests.faults.points import POINTS, Point

_POLL_SECONDS = 0.01
# The modules that ask what time it is.
_DATED = ("aiopravega.ledger.", "aiopravega.store")
Wrapped = Callable[..., Any]

# Which stream a task of the event loop appends to; a connection does not know.
_appending: contextvars.ContextVar[str] = contextvars.ContextVar("appending", default="")
_one_at_a_time: dict[str, asyncio.Lock] = {}


class Plan:
    """The planned faults of this job."""

    def __init__(self, path: Path) -> None:
        self.folder = path.parent
        found = json.loads(path.read_text())
        self.faults: dict[str, dict[str, Any]] = found["faults"]
        self.skew: float = found["skews"].get(os.environ.get("FAULT_ROLE", "driver"), 0.0)
        self.proxies: dict[str, int] = found["proxies"]

    def has(self, stream: str, point: str) -> bool:
        """True if a fault is planned for this stream at this point, before or after it."""
        return stream in self.faults and self.faults[stream]["point"] == point

    def comes_to(self, stream: str, point: str, side: str) -> bool:
        """A process comes to a point: if it is the time for the fault of this stream, it strikes.

        Returns:
            Whether the caller is to linger until it may go.
        """
        if (point, side) == ("leave", "after") and stream in self.faults:
            self._append(f"{stream}.left", f"{os.getpid()} ")
        if not self.has(stream, point) or self.faults[stream]["side"] != side:
            return False
        if self._append(f"{stream}.times", ".") != self.faults[stream]["nth"]:
            return False
        return self._strike(stream, self.faults[stream]["action"])

    def wait(self, stream: str) -> None:
        """Wait until what is at its point may continue."""
        while not (self.folder / f"{stream}.go").exists():
            time.sleep(_POLL_SECONDS)

    def _append(self, name: str, text: str) -> int:
        """Append to a file, as processes die, and tell how long it is."""
        file = os.open(self.folder / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            os.write(file, text.encode())
            return os.lseek(file, 0, os.SEEK_CUR)
        finally:
            os.close(file)

    def _strike(self, stream: str, action: str) -> bool:
        reached = self.folder / f"{stream}.reached"
        part = reached.with_suffix(".part")
        part.write_text(str(os.getpid()))
        part.rename(reached)
        if action == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if action == "wait":
            self.wait(stream)
        return action == "linger"


def _around(plan: Plan, name: str, point: Point, function: Wrapped) -> Wrapped:
    """The function, with the point before and after it."""

    def comes_to(side: str, arguments: tuple[Any, ...]) -> str | None:
        """Returns the stream, if the write is to linger."""
        stream = point.stream_of(arguments)
        return stream if stream is not None and plan.comes_to(stream, name, side) else None

    @functools.wraps(function)
    def plain(*arguments: Any, **named: Any) -> Any:
        comes_to("before", arguments)
        result = function(*arguments, **named)
        comes_to("after", arguments)
        return result

    async def awaits(side: str, arguments: tuple[Any, ...]) -> None:
        stream = comes_to(side, arguments)
        if stream is not None:
            await asyncio.to_thread(plan.wait, stream)

    @functools.wraps(function)
    async def awaited(*arguments: Any, **named: Any) -> Any:
        await awaits("before", arguments)
        result = await function(*arguments, **named)
        await awaits("after", arguments)
        return result

    return awaited if inspect.iscoroutinefunction(function) else plain


def _in_turn(plan: Plan, name: str, function: Wrapped, stream_of: Callable[[tuple[Any, ...]], str | None]) -> Wrapped:
    """Calls that are made at once, one after the other: only then does a point lie between two of them."""

    @functools.wraps(function)
    async def in_turn(*arguments: Any, **named: Any) -> Any:
        stream = stream_of(arguments)
        if stream is None or not plan.has(stream, name):
            return await function(*arguments, **named)
        async with _one_at_a_time.setdefault(stream, asyncio.Lock()):
            return await function(*arguments, **named)

    return in_turn


def _torn(plan: Plan, send: Wrapped) -> Wrapped:
    """`Connection.send`, with the point in the middle of a block."""

    @functools.wraps(send)
    async def torn(connection: Any, buffers: Sequence[bytes | memoryview]) -> None:
        stream = _appending.get()
        if not stream or not plan.has(stream, "block"):
            await send(connection, buffers)
            return
        header, payload, *rest = buffers
        plan.comes_to(stream, "block", "before")
        await send(connection, [header, memoryview(payload)[: len(payload) // 2]])
        plan.comes_to(stream, "block", "amid")
        await send(connection, [memoryview(payload)[len(payload) // 2 :], *rest])
        plan.comes_to(stream, "block", "after")

    return torn


def _noted(session: Wrapped) -> Wrapped:
    """`SegmentAppender._send_all`, which sends nothing but blocks, with its stream noted for the connection."""

    @functools.wraps(session)
    async def noted(appender: Any, *arguments: Any) -> None:
        token = _appending.set(appender.segment.stream.stream)
        try:
            await session(appender, *arguments)
        finally:
            _appending.reset(token)

    return noted


def _by_proxy(plan: Plan, get: Wrapped) -> Wrapped:
    """`ConnectionPool.get`, by way of the proxy of an endpoint."""

    @functools.wraps(get)
    async def by_proxy(pool: Any, endpoint: Any) -> Any:
        port = plan.proxies.get(str(endpoint.port), endpoint.port)
        return await get(pool, type(endpoint)(endpoint.host, port))

    return by_proxy


def _install(plan: Plan, module: ModuleType) -> None:
    """Wrap what the plan needs of a module that was imported just now."""
    for name, point in POINTS.items():
        if point.module == module.__name__ and name != "block":
            owner = getattr(module, point.owner)
            function = _around(plan, name, point, getattr(owner, point.function))
            if name == "commit":
                function = _in_turn(plan, name, function, point.stream_of)
            setattr(owner, point.function, function)
    if module.__name__ == "aiopravega.net.connection":
        module.Connection.send = _torn(plan, module.Connection.send)
    if module.__name__ == "aiopravega.write.appender":
        appender = module.SegmentAppender
        appender._send_all = _noted(appender._send_all)
    if plan.skew and module.__name__.startswith(_DATED):
        _skew(module, plan.skew)
    if module.__name__ == "aiopravega.net.pool":
        module.ConnectionPool.get = _by_proxy(plan, module.ConnectionPool.get)


class Finder(importlib.abc.MetaPathFinder):
    """Finds the modules that are wanted, and has them changed by `install` as soon as they are loaded."""

    def __init__(self, wanted: Callable[[str], object], install: Callable[[ModuleType], None]) -> None:
        self._wanted = wanted
        self._install = install

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not self._wanted(fullname):
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        assert spec is not None
        assert spec.loader is not None
        execute = spec.loader.exec_module

        def load(module: ModuleType) -> None:
            execute(module)
            self._install(module)

        spec.loader.exec_module = load  # type: ignore[method-assign]  # of this one loader
        return spec


def _skew(module: ModuleType, seconds: float) -> None:
    """Let the clocks of a module be wrong.

    Only its own: pandas never ends its start with another `datetime`, and gRPC gives its core deadlines, which has a
    clock of its own.
    """

    class Skewed(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]  # a plain one, as all others are
            return datetime.now(tz) + timedelta(seconds=seconds)

    names = vars(module)
    if names.get("datetime") is datetime:
        names["datetime"] = Skewed
    if names.get("time") is time:
        names["time"] = SimpleNamespace(**vars(time) | {"time": lambda: time.time() + seconds})


def arm() -> None:
    """Prepare this process for what the plan says."""
    plan = Plan(Path(os.environ["FAULT_PLAN"]))
    modules = {point.module for point in POINTS.values()} | {"aiopravega.net.pool"}

    def wanted(name: str) -> bool:
        """True if a module has points, or asks for the date."""
        return name in modules or bool(plan.skew and name.startswith(_DATED))

    sys.meta_path.insert(0, Finder(wanted, functools.partial(_install, plan)))

"""Counts the requests of the processes of one run, and kills the one that comes to a chosen step, as `kill -9` does.

A request has two steps: right before it is sent, and right after, when its answer is not known. All processes of a run
count together, in the folder that FAULT_STEPS names. As `traps`, it wraps functions of the real code when their modules
are imported; the code has no hooks for it.
"""

import functools
import inspect
import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.faults.traps import Finder

VARIABLE = "FAULT_STEPS"
# Where all requests pass: those to segment stores, and those to the controller.
_REQUESTS = {
    "aiopravega.net.connection": ("Connection", "send"),
    "aiopravega.control.rpc": ("Rpc", "_attempt"),
}


class Steps:
    """The steps of a run, in a folder; the next run begins with `plan`."""

    def __init__(self, folder: Path) -> None:
        self._plan, self._steps, self._killed = (folder / name for name in ("kill.json", "steps", "killed"))

    def plan(self, step: int | None, seconds: float = 0.0) -> None:
        """Forget the last run; kill the next one so many seconds after this step, or let it live."""
        self._plan.unlink(missing_ok=True)
        for file in (self._steps, self._killed):
            file.write_bytes(b"")
        if step is not None:
            part = self._plan.with_suffix(".part")
            part.write_text(json.dumps([step, seconds]))
            part.rename(self._plan)

    @property
    def number(self) -> int:
        """The steps of the run so far."""
        return self._steps.stat().st_size

    @property
    def killed(self) -> bool:
        """True if a process of the run was killed."""
        return self._killed.stat().st_size > 0

    def come(self) -> None:
        """A process comes to the next step."""
        number = _append(self._steps)
        try:
            step, seconds = json.loads(self._plan.read_bytes())
        except FileNotFoundError:
            return
        if number == step and seconds:
            timer = threading.Timer(seconds, self._die)
            timer.daemon = True
            timer.start()
        elif number == step:
            self._die()

    def _die(self) -> None:
        _append(self._killed)
        os.kill(os.getpid(), signal.SIGKILL)


def _append(path: Path) -> int:
    """Append a byte, as processes do side by side, and tell how many there are."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        os.write(file, b".")
        return os.lseek(file, 0, os.SEEK_CUR)
    finally:
        os.close(file)


def _counted(function: Callable[..., Any]) -> Callable[..., Any]:
    assert inspect.iscoroutinefunction(function)

    @functools.wraps(function)
    async def counted(*arguments: Any, **named: Any) -> Any:
        steps = Steps(Path(os.environ[VARIABLE]))
        steps.come()
        result = await function(*arguments, **named)
        steps.come()
        return result

    return counted


def count() -> None:
    """Count the requests of this process, and of those that it forks."""

    def install(module: ModuleType) -> None:
        owner, name = _REQUESTS[module.__name__]
        made = getattr(module, owner)
        setattr(made, name, _counted(getattr(made, name)))

    sys.meta_path.insert(0, Finder(_REQUESTS.__contains__, install))

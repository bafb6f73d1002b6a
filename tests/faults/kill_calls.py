"""Kill a process right before and right after its calls of functions of C, such as `rename` and `execute`.

The work runs in a fork, and Python's own profiler counts the calls: no code of ours takes part, and none is replaced.
"""

import os
import signal
import sys
import traceback
from collections.abc import Callable, Collection
from types import FrameType
from typing import Any


def killed_at(work: Callable[[], object], names: Collection[str], step: int) -> bool:
    """Run work in a fork that is killed (SIGKILL) at a step; returns False if the work ended before that.

    Args:
        work: what is run.
        names: the functions whose calls and returns are steps.
        step: the step, from 0 on.
    """
    child = os.fork()
    if child == 0:
        _run(work, names, step)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    assert os.WEXITSTATUS(status) == 0, "the work has failed"
    return False


def _run(work: Callable[[], object], names: Collection[str], step: int) -> None:
    left = step

    def watch(_: FrameType, event: str, called: Any) -> None:
        nonlocal left
        if event in {"c_call", "c_return"} and getattr(called, "__name__", None) in names:
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left -= 1

    try:
        sys.setprofile(watch)
        work()
        sys.setprofile(None)
    except BaseException:  # noqa: BLE001  the fork must end here, whatever it was
        traceback.print_exc()
        os._exit(1)
    os._exit(0)

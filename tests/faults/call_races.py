"""Let something happen right before a call of a function, such as a commit: no code of ours is replaced."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


@contextmanager
def right_before(name: str, other: Callable[[], object]) -> Iterator[None]:
    """Run something once, before the first call of a function in the block, in the same thread.

    Args:
        name: the function, of C or of Python.
        other: what is run.

    Raises:
        AssertionError: the function was not called.
    """
    ran = False

    def watch(frame: FrameType, event: str, called: Any) -> None:
        nonlocal ran
        found = {"call": frame.f_code.co_name, "c_call": getattr(called, "__name__", None)}.get(event)
        if found == name:
            sys.setprofile(None)
            ran = True
            other()

    sys.setprofile(watch)
    try:
        yield
    finally:
        sys.setprofile(None)
    assert ran, f"{name} was not called"

"""Let something happen right before a call of a function of C, such as a commit: no code of ours is replaced."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


@contextmanager
def right_before(name: str, other: Callable[[], object]) -> Iterator[None]:
    """Run something once, before the first call of a function of C in the block, in the same thread.

    Args:
        name: the function.
        other: what is run.

    Raises:
        AssertionError: the function was not called.
    """
    ran = False

    def watch(_: FrameType, event: str, called: Any) -> None:
        nonlocal ran
        if event == "c_call" and getattr(called, "__name__", None) == name:
            sys.setprofile(None)
            ran = True
            other()

    sys.setprofile(watch)
    try:
        yield
    finally:
        sys.setprofile(None)
    assert ran, f"{name} was not called"

"""The function that is replayed: by itself or by its name, with the kind of frame that it asks for."""

import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Self, cast

from aiopravega.errors import ConfigurationError
from pravega_jobs.frame_kinds import FrameKind, range_parameter


@dataclass(frozen=True, slots=True)
class Replayed:
    """A function that makes a table of the frame of a range."""

    call: Callable[[Any], Any]
    name: str
    kind: FrameKind

    @classmethod
    def of(cls, code: Callable[..., Any] | str) -> Self:
        """Find a function, and what its first parameter asks for.

        Args:
            code: the function, also as `@task.pravega` has decorated it; or its text, `module:function`.

        Raises:
            ConfigurationError: there is no such function, it does not say which frame it gets, or needs more arguments.
        """
        found = named_function(code) if isinstance(code, str) else code
        call = inspect.unwrap(found)
        plain = call.func if isinstance(call, partial) else call
        if not inspect.isroutine(plain):
            raise ConfigurationError(f"{code!r} is not a function: give one, or its name as module:function")
        name = f"{plain.__module__}:{plain.__qualname__}"
        first = range_parameter(plain)
        kind = FrameKind.of_parameter(plain, first)
        needed = [
            each.name
            for each in list(inspect.signature(call).parameters.values())[1:]
            if each.default is each.empty and each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
        ]
        if needed:
            raise ConfigurationError(
                f"{name} needs {', '.join(needed)} beside {first!r}: give them by functools.partial"
            )
        return cls(call, name, kind)


@contextmanager
def functions_of_this_folder() -> Iterator[None]:
    """Let functions be named that are in modules of the current folder, as `python -m` does."""
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        yield
    finally:
        sys.path.remove(here)


def named_function(text: str) -> Callable[..., Any]:
    """The value that a text `module:function` names; the caller checks whether it is a function.

    Raises:
        ConfigurationError: the text is not of this form, or there is no such module or name.
    """
    module, colon, name = text.partition(":")
    if not colon or not module or not name:
        raise ConfigurationError(f"{text!r} is not the name of a function: write module:function")
    try:
        found: Any = import_module(module)
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"{text!r}: {error}. The module must be installed, in the folder of the command, or in PYTHONPATH"
        ) from error
    for part in name.split("."):
        if not hasattr(found, part):
            raise ConfigurationError(f"{text!r}: {module} has no {name!r}")
        found = getattr(found, part)
    return cast("Callable[..., Any]", found)

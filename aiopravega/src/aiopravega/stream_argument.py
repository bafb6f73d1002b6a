"""The form `(scope, stream)` of methods that take a stream: two texts, as the client's methods took them at first.

Types, signatures and docs show the parameter `stream` only. Programs that give two texts, by position or as `scope=`
and `stream=`, continue to run: a scope never contains "/", so the two forms cannot be confused.
"""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from aiopravega.names import StreamName

F = TypeVar("F", bound=Callable[..., Any])


def takes_stream(method: F) -> F:
    """Let a method whose first parameter is `stream` take two texts instead: a scope and the name of a stream."""
    call: Callable[..., Any]
    if inspect.iscoroutinefunction(method):

        @wraps(method)
        async def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            return await method(self, *_joined(args, kwargs), **kwargs)

    else:

        @wraps(method)
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            return method(self, *_joined(args, kwargs), **kwargs)

    return cast(F, call)


def _joined(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """The arguments by position, with one StreamName for two texts; those by keyword lose what is in it."""
    if args:
        scope, *others = args
        if not isinstance(scope, str) or "/" in scope:
            return args
        if others and isinstance(others[0], str):
            return StreamName(scope, others[0]), *others[1:]
        if not others and "stream" in kwargs:
            return (StreamName(scope, kwargs.pop("stream")),)
    elif "scope" in kwargs and "stream" in kwargs:
        return (StreamName(kwargs.pop("scope"), kwargs.pop("stream")),)
    return args

"""The blocking API as derived from the asyncio one: one line for each method, with its types, name and docstring.

`head = waits(aio.PravegaClient.head)` in a class is a method that runs the asyncio one in the loop's thread and waits
for the result. mypy sees its parameters and result, `help` and `inspect.signature` show them. This module does not know
the methods themselves.
"""

import inspect
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from functools import update_wrapper
from types import GenericAlias, TracebackType
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, Self, TypeVar, cast, get_args, overload

from aiopravega.loop import Items, LoopThread

P = ParamSpec("P")
T = TypeVar("T")
F = TypeVar("F")
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C", bound=Callable[..., Any])
A_co = TypeVar("A_co", covariant=True)
C_co = TypeVar("C_co", bound=AbstractAsyncContextManager[Any], covariant=True)
A_contra = TypeVar("A_contra", contravariant=True)
T_co = TypeVar("T_co", covariant=True)

# Words of the asyncio API's docstrings that change here.
_WORDS = {"`async with`": "`with`", "`contextlib.aclosing`": "`contextlib.closing`"}


class Twin(Protocol[A_co]):
    """The blocking form of an object of the asyncio API, as the functions of this module need it."""

    @property
    def asynchronous(self) -> A_co:
        """The object of the asyncio API that does the work, for coroutines that `run` waits for."""

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Wait for a coroutine that uses the asyncio API, such as one of `asynchronous`."""

    @property
    def loop(self) -> LoopThread:
        """The thread that runs the object."""


class Face(Generic[A_co]):
    """A blocking form of an object of the asyncio API. It belongs to the process that made it."""

    def __init__(self, loop: LoopThread, asynchronous: A_co) -> None:
        self._loop = loop
        self._asynchronous = asynchronous

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name, method in vars(cls).items():
            if inspect.isfunction(method) and hasattr(method, "__wrapped__"):
                method.__module__, method.__qualname__ = cls.__module__, f"{cls.__qualname__}.{name}"

    @property
    def asynchronous(self) -> A_co:
        """The object of the asyncio API that does the work, for coroutines that `run` waits for."""
        return self._asynchronous

    @property
    def loop(self) -> LoopThread:
        """The thread that runs the object."""
        return self._loop

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Wait for a coroutine that uses the asyncio API, such as one of `asynchronous`."""
        return self._loop.run(coroutine)


class OpenFace(Face[C_co]):
    """A blocking form of an object that is used with `async with`; it is used with `with`."""

    def __enter__(self) -> Self:
        self.run(self.asynchronous.__aenter__())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.run(self.asynchronous.__aexit__(kind, error, trace))


@overload
def waits(method: Callable[Concatenate[A, P], Coroutine[Any, Any, T]]) -> Callable[Concatenate[Twin[A], P], T]: ...


@overload
def waits(
    method: Callable[Concatenate[A, P], Coroutine[Any, Any, T]], face: Callable[[LoopThread, T], F]
) -> Callable[Concatenate[Twin[A], P], F]: ...


def waits(
    method: Callable[..., Coroutine[Any, Any, Any]], face: Callable[[LoopThread, Any], Any] | None = None
) -> Callable[..., Any]:
    """The blocking form of a coroutine method; with `face`, its result also has a blocking form."""

    def call(twin: Twin[Any], /, *args: Any, **kwargs: Any) -> Any:
        result = twin.run(method(twin.asynchronous, *args, **kwargs))
        return result if face is None else face(twin.loop, result)

    return derived(call, method, face)


def waits_with(
    method: Callable[Concatenate[A, B, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[Twin[A], Twin[B], P], T]:
    """The blocking form of a coroutine function on two objects, which have blocking forms: a client and a ledger."""

    def call(twin: Twin[A], other: Twin[B], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return twin.run(method(twin.asynchronous, other.asynchronous, *args, **kwargs))

    return cast(Callable[Concatenate[Twin[A], Twin[B], P], T], derived(call, method, objects=2))


@overload
def calls(method: Callable[Concatenate[A, P], T]) -> Callable[Concatenate[Twin[A], P], T]: ...


@overload
def calls(
    method: Callable[Concatenate[A, P], T], face: Callable[[LoopThread, T], F]
) -> Callable[Concatenate[Twin[A], P], F]: ...


def calls(method: Callable[..., Any], face: Callable[[LoopThread, Any], Any] | None = None) -> Callable[..., Any]:
    """The blocking form of a method that is not a coroutine: it is called in the loop's thread, like all others."""

    async def called(*args: Any, **kwargs: Any) -> Any:
        return method(*args, **kwargs)

    def call(twin: Twin[Any], /, *args: Any, **kwargs: Any) -> Any:
        result = twin.run(called(twin.asynchronous, *args, **kwargs))
        return result if face is None else face(twin.loop, result)

    return derived(call, method, face)


def iterates(
    method: Callable[Concatenate[A, P], AsyncIterator[T]],
) -> Callable[Concatenate[Twin[A], P], Items[T]]:
    """The blocking form of a method whose result is used with `async for`."""

    def call(twin: Twin[A], /, *args: P.args, **kwargs: P.kwargs) -> Items[T]:
        return twin.loop.iterate(method(twin.asynchronous, *args, **kwargs))

    (item, *_) = get_args(inspect.signature(method).return_annotation)
    returns = GenericAlias(Items, (item,))
    return cast(Callable[Concatenate[Twin[A], P], Items[T]], derived(call, method, returns))


class Shown(Protocol[A_contra, T_co]):
    """A property whose type mypy takes from the property of the asyncio API."""

    def __get__(self, twin: Twin[A_contra], owner: Any) -> T_co:
        """Its value."""


def shows(getter: Callable[[A], T]) -> Shown[A, T]:
    """The blocking form of a property, which has the same value: a property does not wait."""
    get = cast(Callable[[A], T], getattr(getter, "fget"))  # noqa: B009 - for mypy a property of a class is its function
    return cast(Shown[A, T], property(lambda twin: get(twin.asynchronous), doc=without_await(getter.__doc__)))


def mirrors(
    method: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]],
) -> Callable[[Callable[Concatenate[F, P], T]], Callable[Concatenate[F, P], T]]:
    """Decorate a blocking form written by hand: mypy compares it with the asyncio one; it gets its docstring."""

    def derive(call: Callable[Concatenate[F, P], T]) -> Callable[Concatenate[F, P], T]:
        return cast(Callable[Concatenate[F, P], T], derived(call, method))

    return derive


def resembles(function: Callable[..., Any]) -> Callable[[C], C]:
    """For a blocking form that is written by hand, with types that differ: it has the docstring of the asyncio one.

    mypy does not compare them; `tests/unit/aiopravega/blocking` compares the names, kinds and defaults of parameters.
    """

    def derive(call: C) -> C:
        call.__doc__ = without_await(function.__doc__)
        return call

    return derive


def waits_for(function: Callable[..., Coroutine[Any, Any, Any]]) -> Callable[[C], C]:
    """For a coroutine function with an optional argument that has a blocking form, whose type differs here.

    The decorated function is a signature only, which is never called; see `resembles`.
    """

    def derive(signature: C) -> C:
        def call(twin: Twin[Any], /, *args: Any, **kwargs: Any) -> Any:
            given = {name: value.asynchronous if isinstance(value, Face) else value for name, value in kwargs.items()}
            return twin.run(function(twin.asynchronous, *args, **given))

        return resembles(function)(cast(C, update_wrapper(call, signature)))

    return derive


def derived(
    call: Callable[..., T], method: Callable[..., Any], returns: Any = None, *, objects: int = 1
) -> Callable[..., T]:
    """Give a blocking form the name, the docstring and the signature of an asyncio method.

    `returns` is in the signature instead of the method's own result. The first arguments of a function, as many as
    `objects`, are objects of the asyncio API.
    """
    update_wrapper(call, method)
    call.__doc__ = without_await(method.__doc__)
    signature = inspect.signature(method)
    parameters = list(signature.parameters.values())
    if parameters[0].name != "self":
        parameters[:objects] = [
            each.replace(annotation=GenericAlias(Twin, each.annotation), kind=inspect.Parameter.POSITIONAL_ONLY)
            for each in parameters[:objects]
        ]
    signature = signature.replace(parameters=parameters)
    if returns is not None:
        signature = signature.replace(return_annotation=returns)
    call.__signature__ = signature  # type: ignore[attr-defined]  # functions have it, but their type does not
    call.__annotations__ = {
        name: parameter.annotation for name, parameter in signature.parameters.items() if name != "self"
    } | {"return": signature.return_annotation}
    return call


def without_await(doc: str | None) -> str | None:
    """A docstring of the asyncio API for the blocking one."""
    for words, ours in _WORDS.items():
        doc = doc and doc.replace(words, ours)
    return doc

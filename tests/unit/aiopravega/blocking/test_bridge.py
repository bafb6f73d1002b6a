"""A blocking method derives from a coroutine method: what it does, and what `help` and `inspect` show."""

import asyncio
import inspect
import pydoc
import threading
from collections.abc import AsyncIterator
from typing import Self

import pytest

from aiopravega.blocking.bridge import Face, OpenFace, Twin, calls, iterates, resembles, shows, waits, waits_with
from aiopravega.loop import Items, LoopThread


class AioShelf:
    """A shelf of the asyncio API."""

    def __init__(self) -> None:
        self.books = ["Emma"]
        self.open = False

    async def __aenter__(self) -> Self:
        self.open = True
        return self

    async def __aexit__(self, *_: object) -> None:
        self.open = False

    async def find(self, title: str, *, strict: bool = False) -> int:
        """Look for a book; use the shelf with `async with`."""
        await asyncio.sleep(0)
        if strict and title not in self.books:
            raise LookupError(title)
        return self.books.index(title)

    async def titles(self, first: str = "") -> AsyncIterator[str]:
        """The titles."""
        for title in self.books:
            yield title
        raise LookupError(first)

    def thread(self) -> int:
        """Where it is called."""
        return threading.get_ident()

    async def neighbour(self) -> "AioShelf":
        """Another shelf."""
        return AioShelf()

    @property
    def size(self) -> int:
        """How many books there are."""
        return len(self.books)


async def count(shelf: AioShelf, factor: int = 1) -> int:
    """Count the books of a shelf."""
    return len(shelf.books) * factor


async def count_both(shelf: AioShelf, other: AioShelf, factor: int = 1) -> int:
    """Count the books of two shelves."""
    return (len(shelf.books) + len(other.books)) * factor


class Shelf(OpenFace[AioShelf]):
    """A shelf."""

    find = waits(AioShelf.find)
    titles = iterates(AioShelf.titles)
    thread = calls(AioShelf.thread)
    size = shows(AioShelf.size)


class Library(Face[AioShelf]):
    """Has shelves."""

    neighbour = waits(AioShelf.neighbour, Shelf)


count_books = waits(count)
count_both_books = waits_with(count_both)


@resembles(count)
def count_here(shelf: Shelf, /, factor: float = 1) -> float:
    return shelf.run(count(shelf.asynchronous)) * factor


@pytest.fixture
def shelf() -> Shelf:
    return Shelf(LoopThread.shared(), AioShelf())


def test_a_method_waits_for_its_result(shelf):
    assert shelf.find("Emma", strict=True) == 0
    with pytest.raises(LookupError, match="Ulysses"):
        shelf.find("Ulysses", strict=True)


def test_an_iterator_gives_its_items_before_its_error(shelf):
    titles = shelf.titles("end")
    assert next(titles) == "Emma"
    with pytest.raises(LookupError, match="end"):
        next(titles)


def test_a_method_without_await_is_called_in_the_thread_of_the_loop(shelf):
    assert shelf.thread() == shelf.thread() != threading.get_ident()


def test_a_result_can_have_a_blocking_form_too(shelf):
    found = Library(shelf.loop, shelf.asynchronous).neighbour()
    assert isinstance(found, Shelf)
    assert found.size == 1


def test_a_block_opens_and_closes(shelf):
    with shelf as entered:
        assert entered is shelf
        assert shelf.asynchronous.open
    assert not shelf.asynchronous.open


def test_a_function_takes_the_blocking_form(shelf):
    assert count_books(shelf, factor=3) == 3
    assert str(inspect.signature(count_books)).startswith("(shelf: ")
    first, factor = inspect.signature(count_books).parameters.values()
    assert (first.annotation.__origin__, first.annotation.__args__) == (Twin, (AioShelf,))
    assert factor == inspect.signature(count).parameters["factor"]


def test_a_function_takes_two_blocking_forms(shelf):
    assert count_both_books(shelf, shelf, factor=2) == 4
    first, second, factor = inspect.signature(count_both_books).parameters.values()
    assert first.annotation.__args__ == second.annotation.__args__ == (AioShelf,)
    assert factor == inspect.signature(count_both).parameters["factor"]


def test_a_function_with_types_of_its_own_has_the_docstring_only(shelf):
    assert count_here(shelf, 0.5) == 0.5
    assert (count_here.__name__, count_here.__doc__) == ("count_here", "Count the books of a shelf.")


def test_inspect_shows_the_signature_of_the_coroutine_without_its_async(shelf):
    assert str(inspect.signature(shelf.find)) == "(title: str, *, strict: bool = False) -> int"
    assert inspect.signature(Shelf.titles).return_annotation == Items[str]
    assert inspect.signature(Library.neighbour).return_annotation is Shelf
    assert inspect.signature(count_books).return_annotation is int
    assert not inspect.iscoroutinefunction(Shelf.find)
    assert (Shelf.find.__name__, Shelf.find.__qualname__, Shelf.find.__module__) == ("find", "Shelf.find", __name__)


def test_help_shows_names_parameters_and_docstrings():
    shown = pydoc.plain(pydoc.render_doc(Shelf))
    assert "find(self, title: str, *, strict: bool = False) -> int" in shown
    assert "Look for a book; use the shelf with `with`." in shown
    assert "How many books there are." in shown
    assert "async" not in shown.replace("asynchronous", "").replace("asyncio", "")

"""Lists that the controller gives in pages (of up to 1,000 entries)."""

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from aiopravega.control.proto import controller_pb2 as pb


class Page(Protocol):
    """An answer that says where the next one continues."""

    @property
    def continuationToken(self) -> pb.ContinuationToken:  # noqa: N802 - the name in controller.proto
        """The beginning of the next page."""
        ...


P = TypeVar("P", bound=Page)


async def all_pages(fetch: Callable[[pb.ContinuationToken], Awaitable[P]], size: Callable[[P], int]) -> list[P]:
    """Fetch pages until an empty one comes, which ends the list."""
    pages: list[P] = []
    token = pb.ContinuationToken()
    while True:
        page = await fetch(token)
        pages.append(page)
        if size(page) == 0 or page.continuationToken.token in ("", token.token):
            return pages
        token = page.continuationToken

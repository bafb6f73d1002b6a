"""The blocking form of the reader without an end; events that have come are taken without the loop's thread."""

from typing import Self

from aiopravega.blocking.bridge import OpenFace, mirrors, shows, waits
from aiopravega.names import StreamName
from aiopravega.read import Event
from aiopravega.read import follow as aio


class Follower(OpenFace[aio.Follower]):
    """Gives the events of a stream as they are written; made by `PravegaClient.follow`, used with `for`.

    Events of one routing key come in the order of their writing, also across scalings. The end of a sealed stream ends
    it. After an error or an interrupt it continues where it was: another reader can do so from `cut`. At the end of a
    `with` block its open requests are dropped; `close` does the same.
    """

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Event:
        if not self._fill():
            raise StopIteration
        return self.asynchronous.take()

    @mirrors(aio.Follower.batch)
    def batch(self) -> list[Event]:
        self._fill()
        return [self.asynchronous.take() for _ in range(self.asynchronous.ready)]

    def _fill(self) -> bool:
        # Events are taken in the caller's thread: one that is interrupted while it waits has lost none.
        return bool(self.asynchronous.ready) or self.run(self.asynchronous.fill())

    @property
    def stream(self) -> StreamName:
        """The stream that it reads."""
        return self.asynchronous.stream

    cut = shows(aio.Follower.cut)
    ready = shows(aio.Follower.ready)
    close = waits(aio.Follower.close)

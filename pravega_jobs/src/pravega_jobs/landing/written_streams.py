"""Streams of rows with errors beside them: which errors the writes to a stream have, and which of them count.

The notes of the errors are in the records of the writes, in the commit ledger. The errors of the newest generation of
each write count, unless a replay has mended them: its record names the errors that it has replayed, and those that are
left.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, Self

from aiopravega.blocking import PravegaClient
from aiopravega.errors import TableNotFoundError
from aiopravega.ledger import CommitRecord, WriteErrors
from aiopravega.names import StreamName
from pravega_jobs.landing.error_streams import WORD, ErrorsStream, connected
from pravega_jobs.writes import finished_writes

REPLAY_OF: Final = "replay of "


@dataclass(frozen=True, slots=True)
class WrittenStream:
    """A stream into which jobs write rows exactly once.

    Args:
        stream: the stream.
        client: a connected client; None: one is opened when it is needed, by the settings of the environment.
        ledger: `scope/table` of the commit ledger; None: the default ledger of the stream's scope.
    """

    stream: StreamName
    client: PravegaClient | None = field(default=None, repr=False, compare=False)
    ledger: str | None = None

    @classmethod
    def of_text(cls, text: str, ledger: str | None = None) -> Self | None:
        """The stream that a text names, as `stream:scope/name`; None: it begins otherwise.

        Raises:
            ConfigurationError: the text has no scope, or a name that no stream can have.
        """
        return cls(StreamName.parse(text.removeprefix(WORD)), ledger=ledger) if text.startswith(WORD) else None

    def location(self) -> str:
        """The stream, as errors name it."""
        return f"{WORD}{self.stream}"

    def notes(self) -> "list[NotedErrors]":
        """The errors of the writes to the stream, by their records, in the order of the writes.

        Without a ledger in the stream's scope, nothing was written exactly once.

        Raises:
            StreamNotFoundError: the stream does not exist.
            TableNotFoundError: the ledger that is named does not exist.
            PravegaError: the ledger cannot be read.
        """
        with connected(self.client) as client:
            try:
                records = client.run(finished_writes(client.asynchronous, self.stream, self.ledger))
            except TableNotFoundError:
                if self.ledger is not None:
                    raise
                return []
        return list(_noted(sorted(records, key=lambda each: each.prepared_at)))

    def sinks(self, notes: "Iterable[NotedErrors]", given: ErrorsStream | None) -> dict[str, ErrorsStream]:
        """The errors streams of the notes, by their texts, and one more."""
        texts = dict.fromkeys(each.errors.sink for each in notes)
        found = {text: ErrorsStream.of_text(text) for text in texts}
        if given is not None:
            found.setdefault(given.location(), given)
        return {
            text: sink if self.client is None else sink.with_client(self.client)
            for text, sink in found.items()
            if sink is not None
        }


@dataclass(frozen=True, slots=True)
class NotedErrors:
    """The note of errors in the record of a write.

    `is_replayed` is True if a replay has taken them: they are rows now, or among the errors that are left of it.
    """

    record: CommitRecord
    errors: WriteErrors
    is_replayed: bool

    @property
    def next_replay(self) -> tuple[str, int]:
        """The write id and the generation of the write that mends them."""
        if self.errors.replays is not None:
            return self.record.write_id, self.record.generation + 1
        return f"{REPLAY_OF}{self.errors.name}", 1


def _noted(records: list[CommitRecord]) -> Iterator[NotedErrors]:
    """The errors that count, or were replayed; the errors of older generations do neither."""
    with_errors = [(each, each.errors) for each in records if each.errors is not None]
    replayed = {one.errors.replays for each, _ in with_errors for one in each.generations if one.errors is not None}
    roots = {f"{REPLAY_OF}{errors.name}" for _, errors in with_errors if errors.replays is None}
    for record, errors in with_errors:
        is_live = errors.replays is None or record.write_id in roots
        if errors.name is not None and is_live:
            yield NotedErrors(record, errors, errors.name in replayed)

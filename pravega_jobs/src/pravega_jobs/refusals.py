"""Rows that a check, a schema or a table refuses: the events that they were made of become errors.

A row says which event it is of by the event's pointer. The event is fetched again, many at a time: an error has its
bytes, as one that cannot be decoded, so that a replay decodes it again. All rows of an event are written, or none is.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from aiopravega.blocking import PravegaClient
from aiopravega.errors import ConfigurationError
from aiopravega.read import EventPointer, fetch_events
from pravega_jobs.error_rows import ERROR_TYPE, Sieve

Checks = Mapping[str, pc.Expression]
# The bytes of events, in the order of their pointers.
FetchEvents = Callable[[Sequence[EventPointer]], Sequence[bytes]]
_LONGEST_REASON: Final = 1000  # characters
# Events that are fetched together, in number and bytes.
_MOST_EVENTS: Final = 10_000
_MOST_BYTES: Final = 8 * 1024 * 1024
_MOST_ROWS: Final = 64 * 1024  # whose pointers become hashes at a time
_NONE: Final = np.zeros(0, np.uint64)
_WEIGHTS: Final = np.random.default_rng(0).integers(2**63, size=256, dtype=np.uint64) * 2 + 1


def check_refusals(event_pointer: str | None, checks: Checks | None, errors: object | None) -> None:
    """Check that rows that are refused have a way out.

    Args:
        event_pointer: the column that has the pointer of each row's event; None: no row is refused by itself.
        checks: conditions that rows must fulfil.
        errors: what gets the errors; None: nothing.

    Raises:
        ConfigurationError: they have none.
    """
    if checks and event_pointer is None:
        raise ConfigurationError("checks need event_pointer: the column that says which event a row was made of")
    if event_pointer is not None and errors is None:
        raise ConfigurationError(f"event_pointer={event_pointer!r} needs errors: the sink of the errors")


def of_stream(client: PravegaClient) -> FetchEvents:
    """Fetches events from their stream."""

    def fetch(pointers: Sequence[EventPointer]) -> list[bytes]:
        found = client.run(fetch_events(client.controller, client.store, pointers))
        return [event.data for event in found]

    return fetch


@dataclass
class Refusals:
    """Takes rows that are refused out of a write or a landing.

    Args:
        events: fetches the events.
        sieve: gets the errors.
        column: the column that has the pointer of each row's event; it is not a part of what is written.
        checks: conditions that rows must fulfil, by their names.
    """

    events: FetchEvents
    sieve: Sieve
    column: str
    checks: Checks = field(default_factory=dict)
    _refused: set[str] = field(default_factory=set)
    _waiting: dict[EventPointer, tuple[str, str]] = field(default_factory=dict)  # pointers as given, and reasons
    _waiting_bytes: int = 0
    _taken: list[npt.NDArray[np.uint64]] = field(default_factory=list)

    def columns(self, schema: pa.Schema) -> pa.Schema:
        """The columns of rows without that of pointers.

        Raises:
            ConfigurationError: it is missing or not of texts, or a check is none for the columns.
        """
        at = schema.get_field_index(self.column)
        if at < 0 or schema.field(at).type not in (pa.string(), pa.large_string(), pa.string_view()):
            found = "missing" if at < 0 else str(schema.field(at).type)
            raise ConfigurationError(
                f"event_pointer names the column {self.column!r}, which is {found}: read the events with "
                "metadata_columns=event_pointer, and keep that column as it is"
            )
        for name, check in self.checks.items():
            try:
                schema.empty_table().filter(check)
            except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, TypeError) as error:
                names = ", ".join(schema.names)
                raise ConfigurationError(
                    f"check {name!r} is {check}, which cannot be used on the columns {names}: {error}"
                ) from None
        return schema.remove(at)

    def checked(self, batch: pa.RecordBatch) -> Iterator[tuple[pa.RecordBatch, pa.StringArray]]:
        """The rows of a batch that pass all checks, with the pointers of their events."""
        rows = pa.Table.from_batches([batch])
        for name, check in self.checks.items():
            for pointer in rows.filter(~check | check.is_null())[self.column].to_pylist():
                self.refuse(pointer, f"does not pass check {name!r}")
            rows = rows.filter(check)
        for passed in rows.to_batches():
            at = passed.schema.get_field_index(self.column)
            yield passed.remove_column(at), passed.column(at).cast(pa.string())

    def taken(self, pointers: pa.StringArray) -> None:
        """Note the events of rows that are taken, in 8 bytes each."""
        self._taken.extend(_all_hashes(pointers))

    def refuse(self, pointer: str | None, reason: str) -> None:
        """Make an error of the event of a row, when it is fetched together with others.

        Raises:
            ConfigurationError: the row has no pointer, or what it has is none.
            PravegaError: an event cannot be fetched.
            LandingError: there are too many errors, or too many bytes of them.
        """
        if pointer is None:
            raise ConfigurationError(
                f"a row {reason}, and has no pointer of an event in column {self.column!r}: only a row of one event "
                "can become an error"
            )
        if pointer in self._refused:
            return
        event = EventPointer.from_text(pointer)
        self._refused.add(pointer)
        self._waiting[event] = pointer, reason[:_LONGEST_REASON].replace("\0", "\\0")
        self._waiting_bytes += event.length
        count = len(self._waiting)
        if count == _MOST_EVENTS or self._waiting_bytes >= _MOST_BYTES or not self.sieve.takes(count):
            self._fetch()

    def _fetch(self) -> None:
        """Give the sieve the errors of all events that wait.

        Raises:
            PravegaError: an event cannot be fetched.
            LandingError: there are too many errors, or too many bytes of them.
        """
        if not self._waiting:
            return
        events = self.events(list(self._waiting))
        errors = [
            {"event": event, "pointer": pointer, "reason": reason}
            for event, (pointer, reason) in zip(events, self._waiting.values(), strict=True)
        ]
        self._waiting.clear()
        self._waiting_bytes = 0
        self.sieve.add(pa.array(errors, ERROR_TYPE))

    def finish(self) -> None:
        """Fetch the events that wait, and check that no event has rows that were refused, and others that were not.

        Raises:
            ConfigurationError: one has.
            PravegaError: an event cannot be fetched.
            LandingError: there are too many errors, or too many bytes of them.
        """
        self._fetch()
        refused = list(self._refused)
        hashes = _all_hashes(pa.array(refused, pa.string()))
        both = np.isin(np.concatenate([_NONE, *hashes]), np.concatenate([_NONE, *self._taken]))
        if both.any():
            raise ConfigurationError(
                f"a row of the event at {refused[int(both.argmax())]} is refused, and other rows of it are not: a "
                "replay of the event would add them again. Divide it by an earlier job, or refuse the event as a whole "
                "by a check"
            )


def _all_hashes(texts: pa.StringArray) -> Iterator[npt.NDArray[np.uint64]]:
    """Hashes of texts, some at a time: for each, all have memory for the longest."""
    return (_hashes(texts.slice(first, _MOST_ROWS)) for first in range(0, len(texts), _MOST_ROWS))


def _hashes(texts: pa.StringArray) -> npt.NDArray[np.uint64]:
    """A number for each text: the sum of its words of eight bytes, each with a weight. Other texts have other ones."""
    words = -(-(pc.max(pc.binary_length(texts)).as_py() or 0) // 8)
    padded = pc.ascii_rpad(texts.fill_null(""), words * 8, padding="\0")  # zeros add nothing
    found = np.frombuffer(padded.buffers()[2] or b"", np.uint64, len(texts) * words).reshape(len(texts), words)
    return found @ np.resize(_WEIGHTS, words)

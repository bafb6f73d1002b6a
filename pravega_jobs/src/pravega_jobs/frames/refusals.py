"""Rows of a write that a check or the schema of its stream refuses: the events that they were made of become errors.

A row says which event it is of by the event's pointer. The event is fetched again: an error has its bytes, as one that
cannot be decoded, so that a replay decodes it again. All rows of an event are written, or none of them is.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from aiopravega.blocking import PravegaClient
from aiopravega.errors import ConfigurationError
from pravega_jobs.error_rows import ERROR_TYPE, Sieve

Checks = Mapping[str, pc.Expression]
_LONGEST_REASON: Final = 1000  # characters


@dataclass
class Refusals:
    """Takes rows that are refused out of a write.

    Args:
        client: fetches the events.
        sieve: gets the errors.
        column: the column that has the pointer of each row's event; it is not a part of the events that are written.
        checks: conditions that rows must fulfil, by their names.
    """

    client: PravegaClient
    sieve: Sieve
    column: str
    checks: Checks = field(default_factory=dict)
    _refused: set[str] = field(default_factory=set)
    _taken: list[npt.NDArray[np.int64]] = field(default_factory=list)

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

    def checked(self, batch: pa.RecordBatch) -> Iterator[tuple[pa.RecordBatch, list[str | None]]]:
        """The rows of a batch that pass all checks, with the pointers of their events."""
        rows = pa.Table.from_batches([batch])
        for name, check in self.checks.items():
            for pointer in rows.filter(~check | check.is_null())[self.column].to_pylist():
                self.refuse(pointer, f"does not pass check {name!r}")
            rows = rows.filter(check)
        for passed in rows.to_batches():
            at = passed.schema.get_field_index(self.column)
            yield passed.remove_column(at), passed.column(at).to_pylist()

    def taken(self, pointers: Sequence[str | None]) -> None:
        """Note the events of rows that the schema of the stream takes."""
        self._taken.append(np.fromiter(map(hash, pointers), np.int64, len(pointers)))

    def refuse(self, pointer: str | None, reason: str) -> None:
        """Make an error of the event of a row.

        Raises:
            ConfigurationError: the row has no pointer, or what it has is none.
            PravegaError: the event cannot be fetched.
            LandingError: there are too many bytes of errors.
        """
        if pointer is None:
            raise ConfigurationError(
                f"a row {reason}, and has no pointer of an event in column {self.column!r}: only a row of one event "
                "can become an error"
            )
        if pointer not in self._refused:
            self._refused.add(pointer)
            event = self.client.fetch(pointer).data
            error = {"event": event, "pointer": pointer, "reason": reason[:_LONGEST_REASON].replace("\0", "\\0")}
            self.sieve.add(pa.array([error], ERROR_TYPE))

    def finish(self) -> None:
        """Check that no event has rows that were refused, and others that were not.

        Raises:
            ConfigurationError: one has.
        """
        for pointer in self._refused:
            rows = sum(int((each == hash(pointer)).sum()) for each in self._taken)
            if rows:
                raise ConfigurationError(
                    f"a row of the event at {pointer} is refused, and other rows of it are not: a replay of the event "
                    "would add them again. Divide it by an earlier job, or refuse the event as a whole by a check"
                )

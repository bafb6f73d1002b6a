"""Division of the rows of a write among several streams, by the values of a column."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Self

import pyarrow as pa
from pyspark.sql.types import StringType, StructType

from aiopravega.errors import ConfigurationError
from aiopravega.names import StreamName
from pravega_jobs.decoding.option_texts import Options
from pravega_jobs.spark.options import ERRORS_OPTION, LEDGER_OPTION, STREAM_OPTION, TIME_OPTION

_STREAMS: Final = "streams_by_value"
_COLUMN: Final = "stream_column"
DIVISION_OPTIONS: Final = (_STREAMS, _COLUMN)


@dataclass(frozen=True, slots=True)
class Division:
    """The column that says where a row goes, and the stream of each of its values."""

    column: str
    by_value: Mapping[str, StreamName]

    @classmethod
    def parse(cls, given: Options, scope: str | None, *, exactly_once: bool) -> Self | None:
        """Read Spark's options; None: the write is into one stream.

        Raises:
            ConfigurationError: an option is missing, or cannot work.
        """
        column, text = given.text(_COLUMN), given.text(_STREAMS)
        if column is None and text is None:
            return None
        if column is None or text is None:
            raise ConfigurationError(
                f"options {_STREAMS!r} and {_COLUMN!r} go together: the stream of each value, and the column"
            )
        if not exactly_once:
            raise ConfigurationError(f"option {_STREAMS!r} needs exactly_once=true: one record decides for all streams")
        try:
            found = json.loads(text)
        except ValueError:
            found = None
        if not isinstance(found, dict) or not found or not all(isinstance(name, str) for name in found.values()):
            raise ConfigurationError(
                f"option {_STREAMS!r} is {text[:80]!r}, but must be a JSON object with the stream of each value of the "
                'column, such as {"east": "examples/east", "west": "examples/west"}'
            )
        return cls(column, {value: StreamName.parse(name, scope) for value, name in found.items()})

    @property
    def streams(self) -> tuple[StreamName, ...]:
        """The streams, in the order of their names."""
        return tuple(sorted(set(self.by_value.values()), key=str))

    def check_beside(self, given: Options, time: str | None) -> None:
        """Check that no option is given that is for one stream.

        Raises:
            ConfigurationError: one is.
        """
        for option, value, why in (
            (STREAM_OPTION, given.text(STREAM_OPTION), f"leave it out: {_STREAMS!r} has the streams"),
            (ERRORS_OPTION, given.text(ERRORS_OPTION), "use write_streams in foreachBatch, which keeps errors"),
            (TIME_OPTION, time, "note the times by writes into each stream"),
        ):
            if value is not None:
                raise ConfigurationError(f"option {option!r} is for a write into one stream, not for several: {why}")
        scopes = sorted({stream.scope for stream in self.streams})
        if len(scopes) > 1 and given.text(LEDGER_OPTION) is None:
            raise ConfigurationError(
                f"the streams are in the scopes {', '.join(scopes)}, which have a commit ledger each by default: name "
                f"the one that is to decide by option {LEDGER_OPTION!r}, as scope/table"
            )

    def rows(self, schema: StructType) -> StructType:
        """The columns of rows without the one that says where they go.

        Raises:
            ConfigurationError: there is no such column, or it is not of texts.
        """
        if self.column not in schema.fieldNames() or not isinstance(schema[self.column].dataType, StringType):
            found = schema[self.column].dataType.simpleString() if self.column in schema.fieldNames() else "missing"
            raise ConfigurationError(
                f"option {_COLUMN!r} is {self.column!r}, which is {found}, but must be a column of strings; there are "
                f"{', '.join(schema.fieldNames())}"
            )
        return StructType([field for field in schema.fields if field.name != self.column])

    def divide(self, batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, pa.RecordBatch]]:
        """The rows of some batches, with the numbers of their streams, in the order of the rows for each.

        Raises:
            ConfigurationError: a row has a value for which no stream is given.
        """
        import pyarrow.compute as pc  # who plans a query imports this module, and makes no rows

        number_of = {stream: number for number, stream in enumerate(self.streams)}
        for batch in batches:
            at = batch.schema.get_field_index(self.column)
            values = batch.column(at).dictionary_encode()
            others = batch.remove_column(at)
            known: list[str | None] = values.dictionary.to_pylist()
            if values.null_count:
                known = [*known, None]
            if unknown := [value for value in known if value not in self.by_value]:
                raise ConfigurationError(
                    f"a row has {unknown[0]!r} in column {self.column!r}, for which no stream is given; known are "
                    f"{', '.join(map(repr, self.by_value))}. Filter such rows out, or give the value a stream"
                )
            numbers = pa.array([number_of[self.by_value[value]] for value in known if value is not None], pa.int32())
            of_rows = numbers.take(values.indices)
            for number in sorted(set(numbers.to_pylist())):
                yield number, others.filter(pc.equal(of_rows, number))

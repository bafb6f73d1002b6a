"""Errors of a landing: what their sink, a table or a stream, gets of it, and which of its errors count.

The rules for limits, names and rows of errors are for writes, too (`landing.write_errors`).

The errors are put there first, once, under an interval of their own. Its name has a digest of the errors. Then the rows
are committed, with a note that names this interval: this commit decides for both. So errors of a run that was killed
between both do not count, nor do errors of a run that found others. The run that commits takes them out of an errors
table; in a stream they stay.
"""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Self

from aiopravega.errors import ConfigurationError, LandingError
from aiopravega.ledger import Interval
from pravega_jobs.landing.error_sinks import DIGITS, NAME, ErrorsSink, ErrorsTable
from pravega_jobs.landing.error_streams import ErrorsStream
from pravega_jobs.landing.rules import HeldErrors, Holding, Landing
from pravega_jobs.landing.table_kind import LandingTable
from pravega_jobs.landing.targets import table_of
from pravega_jobs.spark.options import ERROR, ERROR_SQL

if TYPE_CHECKING:
    import pyarrow as pa

    from pravega_jobs.error_rows import Sieve

_ALL: Final = 100
_PERCENT: Final = re.compile(r"\s*(\d+(?:\.\d+)?)\s*%\s*")


@dataclass(frozen=True, slots=True)
class MostErrors:
    """The most errors that rows may have: a number, or a part of the rows and errors together in percent."""

    number: int | None = None
    percent: float | None = None

    @classmethod
    def parse(cls, given: int | str | None) -> Self:
        """Read a limit, such as `100`, `"100"` or `"1%"`; None: there is none.

        Raises:
            ConfigurationError: it is neither a whole number of at least 0 nor a percentage up to 100.
        """
        text = str(given).strip()
        found = _PERCENT.fullmatch(text)
        if given is None:
            return cls()
        if found is not None and float(found[1]) <= _ALL:
            return cls(percent=float(found[1]))
        if isinstance(given, bool) or not text.isdecimal():
            raise ConfigurationError(
                f"most_errors is {given!r}, but must be a number of errors, such as 100, or a part of the rows, such "
                "as '1%'"
            )
        return cls(number=int(text))

    def hold(self, sieve: "Sieve", of: object, rows: int | None = None) -> None:
        """Let a sieve refuse errors as soon as they are too many, as far as that is known before the last row.

        Args:
            sieve: gets the errors.
            of: their landing or write, for the message.
            rows: the number of all rows; None: not known, and a part of them can be judged at the end only.
        """
        most = self.number
        if self.percent is not None and rows is not None:
            most = int(self.percent * rows / _ALL)
        sieve.hold_to(most, self, of)

    def __str__(self) -> str:
        return str(self.number) if self.percent is None else f"{self.percent:g}%"

    def check(self, errors: "pa.StructArray", rows: int, what: object) -> None:
        """Refuse rows with more errors; `what` is their landing or write, for the message.

        Raises:
            TooManyErrorsError: the message has the first error.
        """
        count = len(errors)
        passed = self.number is not None and count > self.number
        if self.percent is not None:
            passed = count * _ALL > self.percent * (count + rows)
        if passed:
            from pravega_jobs.error_rows import too_many  # needs PyArrow

            raise too_many(what, f"{count} of {count + rows} rows", self, errors[0].as_py())


def check_errors(errors: "LandingTable | ErrorsSink | str | None", most_errors: int | str | None) -> MostErrors:
    """Read the limit of the errors of a landing.

    Raises:
        ConfigurationError: it is none, or there is no errors table or stream that it is for.
    """
    if most_errors is not None and errors is None:
        raise ConfigurationError(f"most_errors={most_errors!r} needs errors: the errors table or stream that gets them")
    return MostErrors.parse(most_errors)


def check_write_errors(errors: "LandingTable | ErrorsSink | str") -> ErrorsStream:
    """The errors stream of a write, or of its text `stream:scope/name`.

    Raises:
        ConfigurationError: it is not a stream.
    """
    found = ErrorsStream.of_text(errors) if isinstance(errors, str) else errors
    if not isinstance(found, ErrorsStream):
        raise ConfigurationError(
            f"errors is {errors!r}, but the errors of a write go into a stream: give stream:scope/name"
        )
    return found


def check_error_column(found: str | None, sink: ErrorsSink | None) -> None:
    """Check that rows have the column of errors if there is a sink for them, and only then.

    Args:
        found: the type of the column `_error` of the rows, as Spark's `simpleString` spells it; None: they have none.
        sink: of the errors.

    Raises:
        ConfigurationError: the column is missing, has another type, or has no sink to go to.
    """
    if sink is None and found == ERROR_SQL:
        raise ConfigurationError(
            f"the rows have the column {ERROR!r}, and those with an error are events that cannot be decoded: give "
            "errors, the errors table or stream that gets them, or leave out these rows and this column"
        )
    if sink is not None and found != ERROR_SQL:
        raise ConfigurationError(
            f"{sink.location()} gets the rows with an error in the column {ERROR!r}, which is "
            f"{found or 'missing'}: read the events with on_error=dead, and keep that column as it is, {ERROR_SQL}"
        )


def errors_sink_of(errors: "LandingTable | ErrorsSink | str") -> ErrorsSink:
    """The sink of errors: a table, or its text as for `table_of`; a stream, or its text `stream:scope/name`.

    Raises:
        ConfigurationError: the text names neither.
    """
    if isinstance(errors, str):
        return ErrorsStream.of_text(errors) or ErrorsTable(table_of(errors))
    return errors if isinstance(errors, ErrorsSink) else ErrorsTable(errors)


@dataclass(frozen=True, slots=True)
class ErrorsBeside:
    """The sink of the errors of a landing, and the table of its rows.

    Raises:
        ConfigurationError: both are one table.
    """

    sink: ErrorsSink
    target: LandingTable

    def __post_init__(self) -> None:
        if self.sink.location() == self.target.location():
            raise ConfigurationError(
                f"the errors of {self.target.location()} cannot go into the same table: name another one"
            )

    def put(self, errors: "pa.StructArray", landing: Landing) -> HeldErrors:
        """Put the errors of a landing whose rows are not committed yet; returns what its note says of them.

        Raises:
            LandingError: the sink must not take them, or cannot.
        """
        where = self.sink.location()
        if not len(errors):
            return HeldErrors(table=where, rows=0)
        one = self._landing(errors, landing)
        self.sink.put(errors_rows(errors, landing, self.target.location()), one)
        return HeldErrors(table=where, rows=len(errors), interval=one.interval.name)

    def check(self, holding: Holding) -> None:
        """Check that the errors of a landing that the table holds are there, and take out the others.

        Raises:
            LandingError: errors are missing there, or there are more.
        """
        held = holding.errors
        if held is not None and held.interval is not None:
            rows = self.sink.count(_errors_landing(holding, held.interval))
            if rows != held.rows:
                raise LandingError(
                    f"generation {holding.generation} of {holding.identity}: {held.rows} errors of it were put into "
                    f"{held.table}, and {rows} are in {self.sink.location()}: they were deleted, added or restored, "
                    "by somebody or by a stream's retention, or it is another sink. If that was meant, mark this run "
                    "as done. To land it again with its errors, land it as generation "
                    f"{holding.generation + 1}. Nothing was changed"
                )
        self.take_out_others(holding)

    def take_out_others(self, holding: Holding) -> None:
        """Take errors out of an errors table that do not count: of older generations, and of runs that were killed.

        The table holds the interval. So no other run of its generation, or of an older one, can commit any more.
        """
        counts = None if holding.errors is None else holding.errors.interval
        mine = holding.consumer, holding.stream, holding.interval, digest(self.target.location())

        def is_other(each: Holding) -> bool:
            name = NAME.fullmatch(each.interval)
            if name is None or each.interval == counts:
                return False
            if (each.consumer, each.stream, name["interval"], name["table"]) != mine:
                return False
            return int(name["generation"]) <= holding.generation

        self.sink.take_out(is_other)

    def _landing(self, errors: "pa.StructArray", landing: Landing) -> Landing:
        one, cuts = landing.interval, (landing.cuts.start.to_text(), landing.cuts.end.to_text())
        name = errors_name(errors, one.name, landing.generation, self.target.location(), *cuts)
        return Landing(Interval(one.consumer, one.stream, name), landing.cuts, of_times=True)


def errors_name(errors: "pa.StructArray", interval: str, generation: int, target: str, *about: str) -> str:
    """The name under which a sink has errors: other events have another one, in whatever order they are.

    Reasons are no part of it: they may have other words next time.

    Args:
        errors: values of the column `_error`.
        interval: the name of the interval of the rows among which they were found.
        generation: of these rows.
        target: the location of the table of these rows, or the text of their stream.
        about: the cuts of the range, or the write id.
    """
    values: Iterable[Any] = errors.to_pylist()
    each = sorted(hashlib.sha256(f"{one['pointer']}\0".encode() + (one["event"] or b"")).hexdigest() for one in values)
    return f"{interval} errors {generation}-{digest(target)}-{digest(*about, *each)}"


def errors_rows(errors: "pa.StructArray", landing: Landing, target: str) -> "pa.Table":
    """The rows of an errors table.

    Args:
        errors: values of the column `_error`.
        landing: the landing of the rows among which they were found.
        target: the location of the table of these rows.
    """
    import pyarrow as pa

    streams = pa.repeat(pa.scalar(str(landing.interval.stream)), len(errors))
    return rows_of_errors(errors, streams, landing.interval.name, landing.generation, target)


def rows_of_errors(
    errors: "pa.StructArray", streams: "pa.Array", interval: str, generation: int, target: str
) -> "pa.Table":
    """Errors with the columns of an errors table; `streams` has the stream of each, as `scope/stream`."""
    import pyarrow as pa

    from pravega_jobs.error_rows import TABLE_COLUMNS

    constants: dict[str, Any] = {
        "interval_name": interval,
        "generation": generation,
        "target": target,
        "failed_at": datetime.now(UTC),
    }
    columns = dict(zip((each.name for each in errors.type), errors.flatten(), strict=True)) | {"stream": streams}
    columns |= {
        name: pa.repeat(pa.scalar(value, TABLE_COLUMNS.field(name).type), len(errors))
        for name, value in constants.items()
    }
    return pa.table(columns, TABLE_COLUMNS)


def _errors_landing(holding: Holding, name: str) -> Landing:
    """The landing of errors under a name, of the range of a holding."""
    return Landing(Interval(holding.consumer, holding.stream, name), holding.range, holding.generation, of_times=True)


def digest(*parts: str) -> str:
    """A digest of some texts, as the names of errors' intervals have it."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:DIGITS]

"""Options of the errors of a write, and the column that rows have of them. No server is asked.

Tables, which errors may go to in landings, are loaded by writes that keep errors only.
"""

from dataclasses import dataclass
from typing import Self

from pyspark.sql.types import StructType

from aiopravega.errors import ConfigurationError
from aiopravega.names import StreamName
from pravega_jobs.decoding.option_texts import Options
from pravega_jobs.spark.options import ERROR, ERRORS_OPTION, ERRORS_OPTIONS


@dataclass(frozen=True, slots=True)
class ErrorOptions:
    """The options of the errors of a write.

    `sink` is the text of the errors stream; None: errors are not kept. `most` is the most errors, `consumer` and
    `interval` are for the errors.
    """

    sink: str | None = None
    most: str | None = None
    consumer: str | None = None
    interval: str | None = None

    @classmethod
    def parse(cls, given: Options, stream: StreamName, *, exactly_once: bool) -> Self:
        """Read Spark's options.

        Raises:
            ConfigurationError: an option cannot work.
        """
        found = cls(*(given.text(name) for name in ERRORS_OPTIONS))
        named = [name for name in ERRORS_OPTIONS if given.text(name) is not None]
        if named and not exactly_once:
            raise ConfigurationError(f"option {named[0]!r} needs exactly_once=true: one record decides rows and errors")
        if named and found.sink is None:
            raise ConfigurationError(f"option {named[0]!r} needs option {ERRORS_OPTION!r}: the stream of the errors")
        if found.sink is not None:
            from pravega_jobs.landing.errors import check_errors, check_write_errors

            if check_write_errors(found.sink).stream == stream:
                raise ConfigurationError(f"the errors of a write to {stream} cannot go into the same stream")
            check_errors(found.sink, found.most)
        return found

    def rows(self, schema: StructType) -> StructType:
        """The columns of rows without that of errors.

        Raises:
            ConfigurationError: the column is missing, or there is one that has no sink.
        """
        found = schema[ERROR].dataType.simpleString() if ERROR in schema.fieldNames() else None
        if found is None and self.sink is None:
            return schema
        from pravega_jobs.landing.errors import check_error_column, check_write_errors

        check_error_column(found, None if self.sink is None else check_write_errors(self.sink))
        return StructType([field for field in schema.fields if self.sink is None or field.name != ERROR])

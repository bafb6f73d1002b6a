"""Rows of a landing that Spark has: its tasks write them, by Arrow, and return what they have written.

So files are written alike on file systems and in object stores, and this process lists nothing. Executors need PyArrow
and this package; for a store also obstore, and credentials in their environment or from their machine.
"""

import pickle
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pravega_jobs.landing.locations import Location
from pravega_jobs.landing.postgres_copy import copy_batches
from pravega_jobs.landing.rows import Copied
from pravega_jobs.landing.rules import Landing
from pravega_jobs.landing.staged_files import StagedFile, StagedFiles
from pravega_jobs.spark.options import ERROR

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, Row
    from pyspark.sql.types import StructType

    from pravega_jobs.error_rows import Sieve
    from pravega_jobs.landing.splitting import Split

_COPIED: Final = "task string, rows long"
_WRITTEN: Final = "name string, size long, footer binary, partition binary"
_NAMES: Final = ["name", "size", "footer", "partition"]
# The errors of a task, after what it has written.
_ERRORS: Final = "errors binary"


def is_spark(value: Any) -> bool:
    """True if a value is a DataFrame of Spark, which is not imported for this."""
    return type(value).__name__ == "DataFrame" and type(value).__module__.partition(".")[0] == "pyspark"


@dataclass(frozen=True, slots=True)
class SparkRows:
    """The rows of a DataFrame.

    Args:
        frame: the DataFrame.
        sieve: gets the rows with an error, which tasks return when they write the others; None: there are none.
    """

    frame: "DataFrame"
    sieve: "Sieve | None" = None

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return list(self.types())

    def types(self) -> dict[str, str]:
        """The columns and their types, as Spark's `simpleString` spells them."""
        return {each.name: each.dataType.simpleString() for each in self._fields().fields}

    def arrow_schema(self) -> "pa.Schema":
        """The columns as Arrow's types, as tables have them. Spark runs no job.

        Raises:
            LandingError: a column is of a type that tables do not have.
        """
        import pyarrow as pa

        from pravega_jobs.landing.column_types import table_type

        # Not of the frame itself: counters of its rows count the first action, which is the write.
        found = self.frame.sparkSession.createDataFrame([], self._fields()).toArrow().schema
        types = ((each, table_type(each.name, each.type, required=True)) for each in found)
        return pa.schema([pa.field(each.name, kind, each.nullable) for each, kind in types])

    def select(self, types: Mapping[str, str]) -> "SparkRows":
        """The rows with the columns of these names, in these types."""
        from pyspark.sql.functions import col

        columns = [col(f"`{name.replace('`', '``')}`").cast(kind).alias(name) for name, kind in types.items()]
        if self.sieve is not None:
            columns.append(col(ERROR))
        return SparkRows(self.frame.select(columns), self.sieve)

    def sifted(self, sieve: "Sieve") -> "SparkRows":
        """The rows without an error, without that column; tasks return the others."""
        return SparkRows(self.frame, sieve)

    def write_files(
        self, landing: Landing, location: Location, own: Mapping[str, str], split: "Split | None" = None
    ) -> StagedFiles:
        """Have tasks write the rows into a new location, one file each, 64 MB at a time while the next are read.

        If the rows are split, each task writes files of the partitions that its rows belong to.

        Args:
            landing: the landing of the rows.
            location: the location of the files; it must not exist yet.
            own: more columns with one text each.
            split: the partitions of the table, which have files of their own; None: it has none.

        Raises:
            LandingError: a column is of a type that tables do not have, or the driver does not find the files.
        """
        from pravega_jobs.landing.column_types import cast_batch
        from pravega_jobs.landing.parquet_files import stage, with_own, write

        columns, texts = self.arrow_schema(), dict(own)
        schema = with_own(columns, texts)

        def written(tries: Location) -> Iterator[StagedFile]:
            def work(batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
                import pyarrow as pa

                casted = (cast_batch(batch, columns) for batch in batches)
                for each in write(casted, schema, texts, tries, split=split):
                    values = each.name, each.size, each.footer, pickle.dumps(each.partition)
                    yield pa.RecordBatch.from_arrays([pa.array([value]) for value in values], _NAMES)

            for row in self._results(work, _WRITTEN):
                yield StagedFile(row.name, row.size, bytes(row.footer), pickle.loads(row.partition))

        return stage(landing, location, schema, written, split)

    def copy(self, dsn: str, staging: str) -> tuple[Copied, ...]:
        """Have tasks copy the rows into a staging table of PostgreSQL; returns the tries of tasks that count.

        A task that is tried again copies its rows again, under another name.
        """
        names = tuple(self.names)

        def work(batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
            import pyarrow as pa

            done = copy_batches(batches, dsn, staging, names)
            yield pa.RecordBatch.from_pydict({"task": [done.task], "rows": [done.rows]})

        return tuple(Copied(row.task, row.rows) for row in self._results(work, _COPIED))

    def _fields(self) -> "StructType":
        """The columns, as Spark has them."""
        from pyspark.sql.types import StructType

        if self.sieve is None:
            return self.frame.schema
        return StructType([each for each in self.frame.schema.fields if each.name != ERROR])

    def _results(
        self, work: "Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]", columns: str
    ) -> "list[Row]":
        """The results of tasks that get the batches of the frame; the sieve gets the errors of their rows.

        A try of a task that does not count returns nothing, so that its errors do not count either.
        """
        if self.sieve is None:
            return self.frame.mapInArrow(work, columns).collect()
        from pravega_jobs.error_rows import Sieve  # needs PyArrow

        def sifted(batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
            import pyarrow as pa

            from aiopravega.schema.arrow.sql_columns import columns_of

            own, schema = Sieve(), pa.schema(columns_of(f"{columns}, {_ERRORS}"))
            for batch in work(own.sift(batches)):
                yield pa.RecordBatch.from_arrays([*batch.columns, pa.nulls(batch.num_rows, pa.binary())], schema=schema)
            errors = own.packed()
            if errors is not None:
                yield pa.RecordBatch.from_arrays(
                    [*(pa.nulls(1, each) for each in schema.types[:-1]), errors], schema=schema
                )

        rows = self.frame.mapInArrow(sifted, f"{columns}, {_ERRORS}").collect()
        for row in rows:
            self.sieve.unpack(row.errors)
        return [row for row in rows if row.errors is None]

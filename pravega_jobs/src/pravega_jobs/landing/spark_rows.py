"""Rows of a landing that Spark has: its tasks write them, by Arrow, and return what they have written.

So files are written alike on file systems and in object stores, and this process lists nothing. Executors need PyArrow
and this package; for a store also obstore, and credentials in their environment or from their machine.
"""

import pickle
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pravega_jobs.landing.locations import Location
from pravega_jobs.landing.postgres_copy import copy_batches
from pravega_jobs.landing.rules import Landing
from pravega_jobs.landing.staged_files import Copied, StagedFile, StagedFiles

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from pravega_jobs.landing.splitting import Split

_COPIED: Final = "task string, rows long"
_WRITTEN: Final = "name string, size long, footer binary, partition binary"
_NAMES: Final = ["name", "size", "footer", "partition"]


def is_spark(value: Any) -> bool:
    """True if a value is a DataFrame of Spark, which is not imported for this."""
    return type(value).__name__ == "DataFrame" and type(value).__module__.partition(".")[0] == "pyspark"


@dataclass(frozen=True, slots=True)
class SparkRows:
    """The rows of a DataFrame."""

    frame: "DataFrame"

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return self.frame.columns

    def types(self) -> dict[str, str]:
        """The columns and their types, as Spark's `simpleString` spells them."""
        return {each.name: each.dataType.simpleString() for each in self.frame.schema.fields}

    def arrow_schema(self) -> "pa.Schema":
        """The columns as Arrow's types, as tables have them. Spark runs no job.

        Raises:
            LandingError: a column is of a type that tables do not have.
        """
        import pyarrow as pa

        from pravega_jobs.landing.column_types import table_type

        # Not of the frame itself: counters of its rows count the first action, which is the write.
        found = self.frame.sparkSession.createDataFrame([], self.frame.schema).toArrow().schema
        types = ((each, table_type(each.name, each.type, required=True)) for each in found)
        return pa.schema([pa.field(each.name, kind, each.nullable) for each, kind in types])

    def select(self, types: Mapping[str, str]) -> "SparkRows":
        """The rows with the columns of these names, in these types."""
        from pyspark.sql.functions import col

        columns = [col(f"`{name.replace('`', '``')}`").cast(kind).alias(name) for name, kind in types.items()]
        return SparkRows(self.frame.select(columns))

    def write_files(
        self, landing: Landing, location: Location, own: Mapping[str, str], split: "Split | None" = None
    ) -> StagedFiles:
        """Have tasks write the rows into a new location, one file each, 64 MB of rows in memory at a time.

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

            for row in self.frame.mapInArrow(work, _WRITTEN).collect():
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

        return tuple(Copied(row.task, row.rows) for row in self.frame.mapInArrow(work, _COPIED).collect())

"""The files of a Spark operator: rows that are counted on their way, sorted, and written in one format."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pravega_jobs.spark.frames import counted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameWriter, Observation


@dataclass(frozen=True, slots=True)
class FileRows:
    """The rows that become files, and the observations that count the events read and the rows written."""

    frame: "DataFrame"
    read: "Observation"
    written: "Observation"

    @classmethod
    def planned(
        cls,
        frame: "DataFrame",
        transformed: "Callable[[DataFrame], DataFrame]",
        sort_by: Sequence[str],
        files: int | None,
        names: tuple[str | None, str | None] = (None, None),
    ) -> "FileRows":
        """Plan the rows of a range.

        Args:
            frame: the range.
            transformed: the user's transformation.
            sort_by: columns to sort by; none: the order of the transformation.
            files: number of files; None: the number of Spark's partitions.
            names: of the observations; None: one of Spark's making.
        """
        frame, read = counted(frame, names[0])
        frame = transformed(frame)
        if sort_by:
            frame = frame.orderBy(*sort_by)
        if files is not None:
            frame = frame.coalesce(files)
        frame, written = counted(frame, names[1])
        return cls(frame, read, written)

    def writer(self, output_format: str) -> "DataFrameWriter":
        """A writer of the files, which replaces what is at its path."""
        return self.frame.write.format(output_format).mode("overwrite")

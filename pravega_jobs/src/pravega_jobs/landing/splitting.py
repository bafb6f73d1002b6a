"""Rows of a landing split by the partitions of their table, so that each file has the rows of one partition."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from aiopravega.errors import LandingError
from pravega_jobs.landing.rules import Landing


class PartitionField(Protocol):
    """A field of a table's partitions. Tasks of Spark get it, so that it can be pickled."""

    @property
    def name(self) -> str:
        """The name of the field."""
        ...

    @property
    def column(self) -> str:
        """The name of the column in the rows that its values come from."""
        ...

    def values(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """The values of the field for the values of its column."""
        ...

    def folder(self, value: Any) -> str:
        """The name of the folder of files with a value; empty, if they need none.

        Raises:
            LandingError: the table cannot have this value.
        """
        ...


@dataclass(frozen=True, slots=True)
class Split:
    """The fields of a table's partitions.

    Args:
        fields: the fields, in the order of the table.
        leaves_out: True if the files do not have the columns of the fields: the table has their values elsewhere.
    """

    fields: tuple[PartitionField, ...]
    leaves_out: bool = False

    @property
    def names(self) -> list[str]:
        """The names of the fields."""
        return [each.name for each in self.fields]

    def left_out(self, schema: pa.Schema) -> tuple[tuple[int, pa.Field], ...]:
        """The columns of rows that their files do not have, with their positions among all columns.

        Args:
            schema: the columns of the rows.
        """
        names = {each.column for each in self.fields} if self.leaves_out else set()
        return tuple((position, each) for position, each in enumerate(schema) if each.name in names)

    def folder(self, key: tuple[Any, ...]) -> str:
        """The folders of the files of a partition, with a slash behind each; empty, if they need none.

        Raises:
            LandingError: the table cannot have one of these values.
        """
        names = [field.folder(value) for field, value in zip(self.fields, key, strict=True)]
        return "".join(f"{name}/" for name in names if name)

    def parts(self, rows: pa.Table) -> list[tuple[tuple[Any, ...], pa.Table]]:
        """The rows of each partition, in the order that they have, and its values of all fields.

        A column that the rows lack is null. The rows are copied once, if they belong to several partitions.

        Args:
            rows: one row or more.
        """
        keys: list[tuple[Any, ...]] = [()]
        codes: pa.Array = pa.repeat(pa.scalar(0, pa.int64()), rows.num_rows)
        for field in self.fields:
            if field.column not in rows.column_names:
                keys = [(*key, None) for key in keys]
                continue
            own, values = _coded(field.values(rows[field.column]))
            pairs = pc.add(pc.multiply(codes, len(values)), own).dictionary_encode()
            keys = [(*keys[pair // len(values)], values[pair % len(values)]) for pair in pairs.dictionary.to_pylist()]
            codes = pairs.indices.cast(pa.int64())
        if len(keys) == 1:
            return [(keys[0], rows)]
        # Codes are counted from 0 in the order in which they are found; sorting keeps the order of equal ones.
        counts = pc.value_counts(codes).field("counts").to_pylist()
        ordered, found, at = rows.take(pc.sort_indices(codes)), [], 0
        for key, count in zip(keys, counts, strict=True):
            found.append((key, ordered.slice(at, count)))
            at += count
        return found


def check_same(landing: Landing, asked: Sequence[str], found: Sequence[str]) -> None:
    """Check that a table has the partitions that a landing names, if it names any.

    Raises:
        LandingError: it has others.
    """
    if asked and list(asked) != list(found):
        raise LandingError(
            f"{landing}: the table has the partitions {', '.join(found) or '(none)'}, and partition_by names "
            f"{', '.join(asked)}: they are not changed. Leave partition_by out, or use a new table. "
            "Nothing was changed"
        )


def check_split(landing: Landing, staged: Split | None, found: Split | None) -> None:
    """Check that files were split by the partitions that a table has now.

    Raises:
        LandingError: another run has made or changed the table meanwhile.
    """
    if staged != found:
        texts = [", ".join(each.names) if each else "no partitions" for each in (staged, found)]
        raise LandingError(
            f"{landing}: the rows were written for {texts[0]}, and the table has {texts[1]} by now: another run has "
            "made or changed it. Run it again. Nothing was changed"
        )


def _coded(column: pa.ChunkedArray) -> tuple[pa.Array, list[Hashable]]:
    """The index of each value of a column among the distinct ones, and these. Null is one of them."""
    whole = pa.concat_arrays(column.chunks) if column.num_chunks != 1 else column.chunk(0)
    found = whole.dictionary_encode(null_encoding="encode")
    return found.indices.cast(pa.int64()), found.dictionary.to_pylist()

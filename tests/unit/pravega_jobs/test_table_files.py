"""The rows of a table's files, whole and some at a time, and the bounds that their footers have."""

from datetime import date

import pyarrow as pa
import pytest
from pyarrow import parquet

from pravega_jobs.merging.engine.table_files import bounds_in, pieces_of, read_columns

ROWS = 5_000
SCHEMA = pa.schema({"id": pa.int64(), "day": pa.date32(), "tags": pa.list_(pa.string()), "added": pa.string()})


@pytest.fixture
def file(tmp_path):
    """A file with a nested column before the others, in groups of 1,700 rows."""
    rows = pa.table(
        {
            "tags": [[str(number), None] if number % 3 else None for number in range(ROWS)],
            "id": pa.array(range(ROWS), pa.int32()),
            "day": [date(2026, 1, 1 + number % 28) for number in range(ROWS)],
        }
    )
    parquet.write_table(rows, tmp_path / "rows.parquet", row_group_size=1_700)
    return parquet.ParquetFile(tmp_path / "rows.parquet")


@pytest.mark.parametrize("constants", [{}, {"added": "p"}, {"day": date(2026, 2, 1)}])
def test_pieces_of_a_file_are_its_rows_in_their_order(file, constants):
    pieces = list(pieces_of(file, SCHEMA, constants, piece_bytes=1))
    assert len(pieces) > 3
    assert pa.concat_tables(pieces) == read_columns(file, SCHEMA, constants)
    assert [piece.schema for piece in pieces] == [SCHEMA] * len(pieces)
    assert pieces[0]["added"][0].as_py() == constants.get("added")


def test_bounds_of_whole_numbers_and_dates_are_in_the_footer(file):
    assert bounds_in(file.metadata, pa.field("id", pa.int64()), {}) == (0, ROWS - 1)
    assert bounds_in(file.metadata, SCHEMA.field("day"), {}) == (date(2026, 1, 1), date(2026, 1, 28))
    assert bounds_in(file.metadata, SCHEMA.field("day"), {"day": date(2026, 2, 1)}) == (date(2026, 2, 1),) * 2
    assert bounds_in(file.metadata, SCHEMA.field("day"), {"day": None}) is None
    assert bounds_in(file.metadata, SCHEMA.field("added"), {}) is None


def test_a_column_with_a_null_has_no_bounds(tmp_path):
    parquet.write_table(pa.table({"id": pa.array([1, None, 3])}), tmp_path / "rows.parquet")
    assert bounds_in(parquet.read_metadata(tmp_path / "rows.parquet"), pa.field("id", pa.int64()), {}) is None

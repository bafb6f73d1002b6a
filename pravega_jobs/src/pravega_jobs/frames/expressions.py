"""Conditions of PyArrow on the rows of a read: Arrow itself says which of them no row of a range can fulfil.

What is known of the rows of a range is given to Arrow as for a fragment of a data set, whose filter leaves out
fragments. So any expression will do: of what Arrow cannot decide, nothing is left out.
"""

from collections.abc import Sequence
from functools import reduce
from operator import and_

import pyarrow as pa
import pyarrow.compute as pc

from aiopravega.errors import ConfigurationError
from pravega_jobs.frames.limits import KnownColumns, MayHold, Rows


def check_filter(condition: object, schema: pa.Schema) -> pc.Expression:
    """The condition, if it is one for these columns.

    Raises:
        ConfigurationError: it is not an expression of PyArrow, names another column, or is not true or false.
    """
    if not isinstance(condition, pc.Expression):
        raise ConfigurationError(
            f"filter is {condition!r}, but must be an expression of pyarrow.compute, such as "
            'field("carrier") == "UA", with field from there'
        )
    try:
        schema.empty_table().filter(condition)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        names = ", ".join(schema.names)
        raise ConfigurationError(
            f"filter is {condition}, which cannot be used on the columns {names}: {error}"
        ) from None
    return condition


def expression_may_hold(condition: pc.Expression, schema: pa.Schema, known: KnownColumns) -> MayHold:
    """The question whether a condition of PyArrow can be true in some rows; `schema` has all columns of the read."""
    import pyarrow.dataset as ds
    from pyarrow.fs import LocalFileSystem

    files, format_ = LocalFileSystem(), ds.IpcFileFormat()  # no file is opened

    def may_hold(rows: Sequence[Rows]) -> list[bool]:
        names = [str(number) for number in range(len(rows))]
        facts = [_facts(one, known) for one in rows]
        fragments = ds.FileSystemDataset.from_paths(
            names, schema=schema, format=format_, filesystem=files, partitions=facts
        ).get_fragments(condition)
        left = {fragment.path for fragment in fragments}
        return [name in left for name in names]

    return may_hold


def _facts(rows: Rows, known: KnownColumns) -> pc.Expression:
    """An expression that is true in each of some rows."""
    facts = [pc.scalar(True)]
    facts += [pc.field(name) == value for name, value in known.constants(rows).items()]
    if rows.part is not None:
        for name in known.offsets:
            first, last = rows.offsets
            facts += [pc.field(name) >= first, pc.field(name) <= last]
    time = known.first_time(rows)
    if time is not None and known.time is not None:
        column = pc.field(known.time.name)
        facts.append((column >= time) | column.is_null())
    return reduce(and_, facts)

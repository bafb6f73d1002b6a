"""From change events to rows: the event and the image, before or after, of each row."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aiopravega.schema.arrow.arrays import Mask, Numbers, mask_of, pick, strings
from aiopravega.schema.arrow.block import BlockError
from aiopravega.schema.arrow.byte_columns import missing
from pravega_jobs.debezium.changes.options import BEFORE, BeforeImage, ChangeOptions, Changes

_POSTGRES: Final = "postgresql"
_NO_KEY: Final = (
    "it is a delete, whose before has placeholders outside of the key: name the columns of the key with option key, or "
    "set before_image=full if the table has REPLICA IDENTITY FULL"
)


@dataclass(frozen=True, slots=True)
class Images:
    """The rows of some events.

    `events` has the event of each row. The masks: `before`, the row shows the image before the change; `nothing`, it
    has no image; `key_only`, only its key is known; `preimage`, it is the image before an update.
    """

    events: Numbers
    before: Mask
    nothing: Mask
    key_only: Mask
    preimage: Mask


def images_of(event: dict[str, pa.Array], source: dict[str, pa.Array], options: ChangeOptions) -> Images:
    """The rows of events that are all changes of rows, or truncates.

    Raises:
        BlockError: a row has placeholders only.
    """
    op = event["op"]
    deleted, updated, truncated = (_is(op, kind) for kind in "dut")
    key_only = deleted & ~_full(source, options)
    if options.changes is Changes.UPSERT:
        key_only = deleted
    if key_only.any() and not options.key:
        raise BlockError(_NO_KEY)
    rows = np.arange(len(op), dtype=np.int64)
    none = np.zeros(len(op), np.bool_)
    if options.changes is not Changes.ROWS:
        return Images(rows, deleted, truncated, key_only, none)
    has_preimage = updated & ~missing(event[BEFORE])
    if options.before_image is BeforeImage.KEY:
        has_preimage[:] = False
    counts = 1 + has_preimage.astype(np.int64)
    taken = np.repeat(rows, counts)
    first = np.zeros(len(taken), np.bool_)
    first[np.cumsum(counts)[has_preimage] - 2] = True
    return Images(taken, deleted[taken] | first, truncated[taken], key_only[taken], first)


def _full(source: dict[str, pa.Array], options: ChangeOptions) -> Mask:
    """The mask of events whose `before` has the whole row if they are deletes."""
    if options.before_image is BeforeImage.AUTO:
        return ~_is(source["connector"], _POSTGRES)
    return np.full(len(source["connector"]), options.before_image is BeforeImage.FULL)


def column_of(images: Images, after: pa.Array, before: pa.Array | None, *, is_key: bool) -> pa.Array:
    """A column of the rows, from the same column of both images; `before` is None if it is not read."""
    known = ~images.nothing if is_key else ~images.nothing & ~images.key_only
    if before is None:
        known = known & ~images.before
    if known.all() and len(known) == len(after) and not images.before.any():
        return after
    positions = np.where(known, images.events + np.where(images.before, len(after), 0), -1)
    both = after if before is None else pa.concat_arrays([after, before])
    return pick(both, positions)


def _is(texts: pa.Array, value: str) -> Mask:
    return mask_of(pc.is_in(texts, value_set=strings([value])))

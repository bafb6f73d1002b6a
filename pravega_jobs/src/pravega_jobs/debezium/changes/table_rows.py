"""The rows of some events, as the columns of the plan: images converted, placeholders taken out, metadata beside."""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aiopravega.errors import ConfigurationError
from aiopravega.schema.arrow.arrays import Mask, Numbers, mask_of, numbers, pick, strings
from aiopravega.schema.arrow.block import BlockError
from aiopravega.schema.arrow.byte_columns import missing, without_nulls
from pravega_jobs.debezium.changes import metadata, placeholders
from pravega_jobs.debezium.changes.connect import Meaning
from pravega_jobs.debezium.changes.conversions import Converter
from pravega_jobs.debezium.changes.options import AFTER, BEFORE, OP, BeforeImage, ChangeOptions, Changes
from pravega_jobs.debezium.changes.plan import ChangePlan

if TYPE_CHECKING:
    from pravega_jobs.debezium.changes.new_columns import Rest

_POSTGRES: Final = "postgresql"
_NO_KEY: Final = (
    "it is a delete, whose before has placeholders outside of the key: name the columns of the key with option key, or "
    "set before_image=full if the table has REPLICA IDENTITY FULL"
)


@dataclass(frozen=True, slots=True)
class Images:
    """The rows of some events: the event and the image, before or after, of each row.

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


@dataclass(frozen=True, slots=True)
class Context:
    """Some events: their columns as they were read, payloads, offsets, and the meanings of the table's columns."""

    event: dict[str, pa.Array]
    source: dict[str, pa.Array]
    payloads: pa.BinaryArray
    offsets: Numbers
    epoch: int
    meanings: dict[str, Meaning] | None
    rest: "Rest | None"

    def subset(self, positions: Numbers) -> "Context":
        """The same for some of the events."""
        if len(positions) == len(self.offsets):
            return self
        rest = self.rest and {new: self.rest[old] for new, old in enumerate(positions.tolist()) if old in self.rest}
        return Context(
            {name: pick(array, positions) for name, array in self.event.items()},
            {name: pick(array, positions) for name, array in self.source.items()},
            pick(self.payloads, positions),
            self.offsets[positions],
            self.epoch,
            self.meanings,
            rest,
        )


class ChangeRowMaker:
    """Makes the rows of events that are changes of rows."""

    def __init__(self, plan: ChangePlan, converter: Converter, context: Context) -> None:
        self._plan = plan
        self._converter = converter
        self._context = context

    def rows(self, positions: pa.Array) -> list[pa.Array]:
        """The event of each row, then the columns of the plan.

        Raises:
            BlockError: an event cannot become rows.
        """
        if not len(positions):
            return [positions, *(pa.nulls(0, kind) for kind in self._plan.schema.types)]
        try:
            return self._rows(without_nulls(positions, 0))
        except ConfigurationError:  # it is a ValueError
            raise
        except (pa.ArrowException, ValueError) as error:  # a source has a wrong number, a text is not Unicode, …
            raise BlockError(f"its envelope cannot be read: {error}") from None

    def _rows(self, chosen: Numbers) -> list[pa.Array]:
        context = self._context.subset(chosen)
        images = images_of(context.event, context.source, self._plan.options)
        if self._plan.options.changes is Changes.ENVELOPE:
            made, masks = self._envelope(context, images)
        else:
            made, masks = self._table(context, images)
        if masks and metadata.UNCHANGED not in self._plan.metadata:
            raise BlockError(placeholders.UNSAID.format(", ".join(masks)))
        for name in self._plan.metadata:
            made[name] = self._about(name, context, images, masks)
        return [numbers(chosen[images.events], pa.int64()), *(made[name] for name in self._plan.schema.names)]

    def _table(self, context: Context, images: Images) -> tuple[dict[str, pa.Array], dict[str, Mask]]:
        after, gone = self._image(context, AFTER, self._plan.table)
        before, gone_before = self._image(context, BEFORE, self._plan.before)
        key = self._plan.options.key
        made = {name: column_of(images, after[name], before.get(name), is_key=name in key) for name in after}
        nothing = np.zeros(len(context.offsets), np.bool_)
        masks = {}
        for name in dict.fromkeys((*gone, *gone_before)):
            both = np.where(
                images.before, gone_before.get(name, nothing)[images.events], gone.get(name, nothing)[images.events]
            )
            if both.any():
                masks[name] = both
        return made, masks

    def _envelope(self, context: Context, images: Images) -> tuple[dict[str, pa.Array], dict[str, Mask]]:
        after, gone = self._image(context, AFTER, self._plan.table)
        before, gone_before = self._image(context, BEFORE, self._plan.table)
        hidden = images.key_only.copy()
        if self._plan.options.before_image is BeforeImage.KEY:
            hidden |= ~missing(context.event[BEFORE])
        if hidden.any():
            for name in before.keys() - set(self._plan.options.key):
                before[name] = placeholders.without(before[name], hidden)
        kind = self._plan.table
        made = {
            name: pa.StructArray.from_arrays(
                [parts[one.name] for one in kind], fields=list(kind), mask=context.event[name].is_null()
            )
            for name, parts in ((AFTER, after), (BEFORE, before))
        }
        deleted = missing(context.event[AFTER])
        nothing = np.zeros(len(deleted), np.bool_)
        names = dict.fromkeys((*gone, *gone_before))
        masks = {name: gone.get(name, nothing) | (deleted & gone_before.get(name, nothing)) for name in names}
        return made | {OP: context.event[OP]}, {name: mask for name, mask in masks.items() if mask.any()}

    def _image(self, context: Context, name: str, schema: pa.Schema) -> tuple[dict[str, pa.Array], dict[str, Mask]]:
        """The columns of an image, converted, and the masks of values that are placeholders."""
        image = context.event[name]
        if image.null_count == len(image):
            return {one.name: pa.nulls(len(image), one.type) for one in schema}, {}
        meanings = context.meanings or {}
        made, masks, placeholder = {}, {}, self._plan.placeholder
        for one, read in zip(schema, image.flatten(), strict=True):
            array, gone = placeholder.alone(read, one.type), placeholder.found(read)
            if gone is not None:
                masks[one.name] = gone
                array = placeholders.without(array, gone)
            made[one.name] = self._converter.convert(array, one.type, meanings.get(one.name), one.name)
        return made, masks

    def _about(self, name: str, context: Context, images: Images, masks: dict[str, Mask]) -> pa.Array:
        events = images.events
        if name == metadata.UNCHANGED:
            return placeholders.names_of(masks, len(events))
        if name == metadata.REST:
            return _texts([self._rest_of(context, images, row) for row in range(len(events))])
        if name == metadata.SOURCE:
            texts = [json.loads(text).get("source") for text in context.payloads.to_pylist()]
            array = _texts([json.dumps(text, ensure_ascii=False, separators=(",", ":")) for text in texts])
        elif name == metadata.SEQUENCE:
            array = metadata.sequences(context.source, context.epoch, context.offsets)
        elif name == metadata.CHANGE_TYPE:
            array = metadata.change_types(context.event["op"])
        else:
            array = metadata.column(name, context.event, context.source)
        taken = array if len(events) == len(array) else pick(array, events)
        return metadata.with_preimages(taken, images.preimage) if name == metadata.CHANGE_TYPE else taken

    def _rest_of(self, context: Context, images: Images, row: int) -> str | None:
        texts = (context.rest or {}).get(int(images.events[row]), {})
        if self._plan.options.changes is Changes.ENVELOPE:
            return texts.get(AFTER, texts.get(BEFORE))
        if images.key_only[row] or images.nothing[row]:
            return None
        return texts.get(BEFORE if images.before[row] else AFTER)


def _texts(values: list[str | None]) -> pa.Array:
    made = strings([value or "" for value in values])
    absent = np.array([value is None for value in values], np.bool_)
    return placeholders.without(made, absent) if absent.any() else made

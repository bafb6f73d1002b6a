"""Decoding of blocks of change events into rows.

Events without a row are counted by kind, and events that cannot be read get a reason: each event is accounted for.
"""

from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from aiopravega.errors import ConfigurationError
from aiopravega.schema.arrow.arrays import Numbers, numbers, pick
from aiopravega.schema.arrow.block import decode_or_search
from aiopravega.schema.arrow.byte_columns import without_nulls
from pravega_jobs.debezium.changes.connect import Meaning
from pravega_jobs.debezium.changes.conversions import Converter
from pravega_jobs.debezium.changes.envelope import Envelopes, EventGroup, Opener
from pravega_jobs.debezium.changes.kinds import kinds_of, refusal
from pravega_jobs.debezium.changes.metadata import envelope_fields, source_fields
from pravega_jobs.debezium.changes.new_columns import check_new, unknown_of
from pravega_jobs.debezium.changes.options import NewColumns
from pravega_jobs.debezium.changes.plan import ChangePlan
from pravega_jobs.debezium.changes.reading import EventReader, UniformEvents
from pravega_jobs.debezium.changes.table_rows import ChangeRowMaker, Context
from pravega_jobs.debezium.changes.tables import TableFilter, tables_in


@dataclass(frozen=True, slots=True)
class ChangeBlock:
    """The rows of some events.

    `columns` are the plan's columns; `taken` has the event of each row, in the order of the events. `left_out` counts
    events without a row by their kind, `bad` has the reason for each event that cannot be read.
    """

    columns: list[pa.Array]
    taken: Numbers
    left_out: dict[str, int] = field(default_factory=dict)
    bad: dict[int, str] = field(default_factory=dict)


class ChangeDecoder:
    """Decodes the change events of one task; it remembers schemas, forms of values and tables from block to block.

    `new_columns` are names of columns that the table has and the read does not, as far as they were seen.
    """

    def __init__(self, plan: ChangePlan) -> None:
        self._plan = plan
        self._envelopes = Envelopes()
        self._converter = Converter(plan.options)
        self._one_table = plan.options.table is None and "_source_table" not in plan.metadata
        self._filter = None if plan.options.table is None else TableFilter(plan.options.table)
        source = source_fields(plan.metadata, tables=self._one_table)
        around = envelope_fields(plan.metadata)
        self._reader = EventReader(plan.table, plan.before, source, around, plan.placeholder)
        self._tables: set[str] = set()
        self.new_columns: set[str] = set()

    def decode(
        self, events: pa.BinaryArray, offsets: Numbers, epoch: int = 0, opener: Opener | None = None
    ) -> ChangeBlock:
        """The rows of some events.

        Args:
            events: the bytes of each.
            offsets: of each event in its segment.
            epoch: of the segment.
            opener: takes the envelopes off the events; None: Debezium's own envelope.

        Raises:
            ConfigurationError: events are of several tables, and no column tells their rows apart; or the table has a
                new column, and `new_columns` is `fail`.
        """
        sizes = np.diff(np.frombuffer(events.buffers()[1], np.int32, len(events) + 1, events.offset * 4))
        filled = np.flatnonzero(sizes)
        left_out = {"empty": len(events) - len(filled)} if len(filled) < len(events) else {}
        present = events if len(filled) == len(events) else pick(events, filled)
        groups, unopened = (opener or self._envelopes).open(present) if len(present) else ([], {})
        bad = {int(filled[row]): why for row, why in unopened.items()}
        made: list[tuple[list[pa.Array], Numbers]] = []
        for whole in groups:
            group = self._of_table(whole, left_out)
            positions = filled[group.rows]
            batches, unread = self._reader.read(group.payloads)
            bad |= {int(positions[row]): refusal(group.payloads[row].as_py(), why) for row, why in unread.items()}
            for batch in batches:
                columns, taken, wrong = self._batch(group, batch, offsets[positions[batch.rows]], epoch, left_out)
                made.append((columns, positions[taken]))
                bad |= {int(positions[row]): why for row, why in wrong.items()}
        self.new_columns |= self._reader.unknown
        columns, taken = self._in_order(made)
        return ChangeBlock(columns, taken, left_out, bad)

    def _batch(
        self, group: EventGroup, batch: UniformEvents, offsets: Numbers, epoch: int, left_out: dict[str, int]
    ) -> tuple[list[pa.Array], Numbers, dict[int, str]]:
        """The columns of a batch, the group's event of each row, and the reasons for the group's bad events."""
        source_names = [one.name for one in self._reader.source]
        source = dict(zip(source_names, batch.columns["source"].flatten(), strict=True))
        payloads = group.payloads if len(batch.rows) == len(group.payloads) else pick(group.payloads, batch.rows)
        kinds = kinds_of(batch.columns, payloads, self._plan.options)
        for kind, count in kinds.left_out.items():
            left_out[kind] = left_out.get(kind, 0) + count
        bad = {int(batch.rows[row]): why for row, why in kinds.bad.items()}
        if len(kinds.rows):
            self._note_new(group)
        if self._one_table:
            self._check_table(source, kinds.rows)
        rest = (
            unknown_of(payloads, kinds.rows, self._plan)
            if self._plan.options.new_columns is not NewColumns.IGNORE
            else None
        )
        context = Context(
            event=batch.columns,
            source=source,
            payloads=payloads,
            offsets=offsets,
            epoch=epoch,
            meanings=self._meanings(group),
            rest=rest,
        )
        maker = ChangeRowMaker(self._plan, self._converter, context)
        positions = numbers(kinds.rows, pa.int64())
        block = decode_or_search(positions, maker.rows)
        bad |= {int(batch.rows[kinds.rows[row]]): why for row, why in block.bad.items()}
        taken = without_nulls(block.columns[0], 0)
        return block.columns[1:], batch.rows[taken], bad

    def _meanings(self, group: EventGroup) -> dict[str, Meaning] | None:
        return group.columns if group.has_schema and group.columns is not None else self._plan.meanings

    def _of_table(self, group: EventGroup, left_out: dict[str, int]) -> EventGroup:
        if self._filter is None:
            return group
        rows = self._filter.rows(group.payloads)
        others = len(group.rows) - len(rows)
        if not others:
            return group
        left_out["other table"] = left_out.get("other table", 0) + others
        return replace(group, rows=group.rows[rows], payloads=pick(group.payloads, rows))

    def _note_new(self, group: EventGroup) -> None:
        if group.columns is not None:
            self.new_columns |= group.columns.keys() - set(self._plan.table.names)
            check_new(self.new_columns, self._plan)

    def _check_table(self, source: dict[str, pa.Array], rows: Numbers) -> None:
        self._tables |= tables_in(source, rows)
        if len(self._tables) > 1:
            raise ConfigurationError(
                f"the events are of several tables, {', '.join(sorted(self._tables))}: name one with option "
                "'table', or ask for the column _source_table, which tells their rows apart"
            )

    def _in_order(self, made: list[tuple[list[pa.Array], Numbers]]) -> tuple[list[pa.Array], Numbers]:
        """All rows in the order of their events."""
        if not made:
            return [pa.nulls(0, kind) for kind in self._plan.schema.types], np.zeros(0, np.int64)
        if len(made) == 1:
            return made[0]
        taken = np.concatenate([rows for _, rows in made])
        order = np.argsort(taken, kind="stable")
        columns = [pa.concat_arrays(parts) for parts in zip(*(columns for columns, _ in made), strict=True)]
        return [pick(column, order) for column in columns], taken[order]

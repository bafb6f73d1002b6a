"""A run's write of one interval into several sinks: claim, write, and the results of the assets."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final, cast

import dagster as dg

from aiopravega import StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.errors import ConfigurationError
from aiopravega.ledger import CommitRecord, Sink
from dagster_pravega.assets.kept import table_state
from dagster_pravega.assets.landed import landed_interval, version_of_rows
from dagster_pravega.assets.sinks import Sinks
from dagster_pravega.io.arrow_io import PravegaArrowIOManager
from dagster_pravega.io.stream_io import inputs_of_step
from dagster_pravega.io.write_measures import WrittenOutput, measures_of_inputs
from dagster_pravega.metadata.columns import arrow_schema, columns_from
from dagster_pravega.metadata.measures import HELD_ROWS_KEY, ROWS_OF_PARTITION_KEY, data_version, times_of, updated_at
from dagster_pravega.metadata.preview import preview
from dagster_pravega.metadata.rebuild_and_claim import generation_of
from dagster_pravega.metadata.steps import part_names
from dagster_pravega.metadata.written import GENERATION_KEY, WRITE_ID_KEY, claimant_of
from dagster_pravega.resources.table_keys import TABLE_KEY
from pravega_jobs.landing import LandingTable, folder_of
from pravega_jobs.landing.land import landing_of
from pravega_jobs.landing.rules import Holding
from pravega_jobs.spark.options import ERROR, LEDGER_OPTION
from pravega_jobs.writes import Written, finished_write, write_unless_done

INPUT: Final = "events"
_SINKS_KEY: Final = "pravega/sinks"


class SinksWrite:
    """A run's write of one interval into all sinks."""

    def __init__(self, context: dg.AssetExecutionContext, sinks: Sinks, consumer: str, configured: int | None) -> None:
        step = context.get_step_execution_context()
        manager, ranges = inputs_of_step(context.run.run_id, step.step.key)[INPUT]
        if not isinstance(manager, PravegaArrowIOManager):
            raise ConfigurationError(
                f"the events are read by a {type(manager).__name__}, and several sinks need a PravegaArrowIOManager: "
                "name it by io_manager_key"
            )
        self._context, self._sinks, self._ranges = context, sinks, ranges
        self._manager: PravegaArrowIOManager = manager
        self._interval = landed_interval(ranges, consumer)
        self._generation = generation_of(configured, context.run)
        self._write_id = f"{self._interval.consumer} {self._interval.name}"
        self._ledger = manager.options.get(LEDGER_OPTION)
        self._parts = part_names(step)
        self._claimant = claimant_of(context.run.run_id, step.step.key)

    def results(self, events: Any) -> Iterator[dg.MaterializeResult[None]]:
        """Write what the function makes of the events; the result of each asset.

        Raises:
            PravegaError: as of `pravega_jobs.frames.write_streams`.
        """
        sinks, streams = self._sinks, self._sinks.streams
        self._declare(next(iter(streams.values())))
        rows = events if isinstance(sinks.divide, str) else sinks.divided(events)
        schemas = self._schemas(rows)
        done = self._written(rows)
        self._ranges.finish()
        parts = {each: replace(done, record=done.record.of(stream)) for each, stream in streams.items()}
        found = {each: self._of_stream(streams[each], part) for each, part in parts.items()}
        held = {each: self._held(text) for each, text in sinks.targets.items() if isinstance(text, str)}
        counts = {each: part.record.total_events for each, part in parts.items()}
        counts |= {each: 0 if one is None else one.rows for each, (_, one) in held.items()}
        more = measures_of_inputs({INPUT: self._ranges}) | {_SINKS_KEY: dg.MetadataValue.json(counts)}
        for spec, (each, target) in zip(sinks.specs, sinks.targets.items(), strict=True):
            if isinstance(target, StreamName):
                metadata, version = found[each]
            else:
                table, one = held[each]
                metadata, version = (
                    self._of_table(target, table, one),
                    version_of_rows(self._ranges.data_version, self._generation),
                )
            yield dg.MaterializeResult(
                asset_key=spec.key, metadata={**schemas[each], **metadata, **more}, data_version=version
            )

    def _declare(self, first: StreamName) -> None:
        """Record the write in the claim of the interval, by the stream whose entry in the ledger decides for all."""
        sink = Sink(
            kind="write", target=str(first), id=self._write_id, generation=self._generation, ledger=self._ledger
        )
        for part in self._parts:
            self._ranges.declare(part, sink)

    def _schemas(self, rows: Any) -> dict[str, dict[str, Any]]:
        """Metadata of the columns of each sink, and the lineage of columns that a column has divided."""
        from pravega_jobs.frames import RowsByKey
        from pravega_jobs.tables import schema_of

        column = self._sinks.divide
        if isinstance(column, str):
            dropped = (column, ERROR, self._sinks.event_pointer)
            kept = [name for name in rows.schema.names if name not in dropped]
            divided = arrow_schema(rows.schema.empty_table().select(kept).schema)
            divided |= columns_from(self._sinks.upstream, kept)
            return dict.fromkeys(self._sinks.targets, divided)
        tables = {each: made.rows if isinstance(made, RowsByKey) else made for each, made in rows.items()}
        return {each: arrow_schema(schema_of(table)) for each, table in tables.items()}

    def _written(self, rows: Any) -> Written:
        """Write, or find that an earlier try of this step has written.

        A table may have to get its rows still: then the rows are compared, and it gets them.
        """
        first, *others = self._sinks.streams.values()
        asking = self._client.asynchronous

        def find() -> CommitRecord | None:
            record = self._client.run(
                finished_write(asking, first, self._write_id, self._ledger, self._generation, others)
            )
            return None if record is None or record.waiting_tables else record

        done = write_unless_done(first, self._write_id, find, partial(self._write, rows), claimant=self._claimant)
        if not done.by_this_try:
            self._context.log.warning("%s is done already: nothing is written again", done.record.name)
        return done

    def _write(self, rows: Any) -> None:
        from pravega_jobs.frames import write_by_column, write_streams
        from pravega_jobs.frames.options import WriteOptions

        sinks, interval = self._sinks, self._interval
        of_manager = {
            each: text for each, text in self._manager.options.items() if each in WriteOptions.__annotations__
        }
        given: dict[str, Any] = {
            "registry": self._manager.registry,
            "ledger": self._ledger,
            "generation": self._generation,
            "claimant": self._claimant,
            "errors": sinks.errors,
            "most_errors": sinks.most_errors,
            "event_pointer": sinks.event_pointer,
            "consumer": interval.consumer,
            "interval": interval.name,
            **of_manager,
            **sinks.options,
        }
        if isinstance(sinks.divide, str):
            owner = None if sinks.errors_of is None else sinks.streams[sinks.errors_of]
            write_by_column(self._client, rows, sinks.divide, sinks.streams, self._write_id, errors_of=owner, **given)
            return
        by_sink = {self._target(sinks.targets[each]): made for each, made in rows.items()}
        write_streams(
            self._client,
            cast("Mapping[StreamName | LandingTable | str, Any]", by_sink),
            self._write_id,
            cuts=interval.cuts.to_json() | self._times,
            **given,
        )

    def _target(self, target: StreamName | str) -> StreamName | LandingTable:
        if isinstance(target, StreamName):
            return target
        return self._sinks.tables.table(target, self._context.resources)

    def _of_stream(self, stream: StreamName, done: Written) -> tuple[dict[str, Any], dg.DataVersion | None]:
        """Metadata and data version of a written stream."""
        client = self._client
        written = WrittenOutput.find(client, stream, done)
        metadata = written.metadata(client, self._generation, of_partition=self._context.has_partition_key)
        if written.cuts is None:
            return metadata, None
        return metadata | preview(client, written.cuts, stream, self._manager.preview_events), data_version(
            written.cuts
        )

    def _held(self, text: str) -> tuple[LandingTable, Holding | None]:
        """A table, and its note of the interval."""
        table, one = self._sinks.tables.table(text, self._context.resources), self._interval
        return table, table.held(landing_of(one.cuts, one.consumer, one.name, self._generation))

    def _of_table(self, text: str, table: LandingTable, held: Holding | None) -> dict[str, Any]:
        """Metadata of a table after the write."""
        folder = folder_of(text)
        metadata: dict[str, Any] = {
            TABLE_KEY: text if folder is None else dg.MetadataValue.path(folder),
            WRITE_ID_KEY: self._write_id,
            GENERATION_KEY: self._generation,
            **table_state(table, None),
        }
        if held is not None:
            metadata |= {HELD_ROWS_KEY: held.rows, **updated_at(held.landed_at)}
            if self._context.has_partition_key:
                metadata[ROWS_OF_PARTITION_KEY] = held.rows
        return metadata

    @property
    def _times(self) -> dict[str, str]:
        """The event times of the interval, whose range may overlap others then."""
        times = times_of(self._ranges.record)
        return {} if times is None else {"since": times[0].isoformat(), "until": times[1].isoformat()}

    @property
    def _client(self) -> PravegaClient:
        return self._ranges.client

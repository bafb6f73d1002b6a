"""A write of a Spark operator that is done once: its names are checked before Spark is started."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Self
from uuid import UUID, uuid4

from aiopravega import PravegaConfig, StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.errors import ConfigurationError
from aiopravega.ledger import CommitRecord, Sink, ledger_name
from airflow_pravega.lineage import columns_of
from airflow_pravega.spark.deferring import check_known
from airflow_pravega.tasks.intervals import shown
from pravega_jobs.remote.orders import WriteOrder
from pravega_jobs.spark.connect import Operation, OperationEnd, begin
from pravega_jobs.spark.frames import events_writer
from pravega_jobs.spark.options import LEDGER_OPTION
from pravega_jobs.writes import Written, finished_write, parse_generation, write_unless_done, written_since

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameWriter

_ENCODE_OPTION: Final = "encode"
_ROUTING_KEY: Final = "routing_key"


@dataclass(frozen=True, slots=True)
class OnceWrite:
    """A write to a stream under a write id; `options` are more options of the data source.

    `columns` has the columns of the rows that were encoded as events; it is empty before `writer`.
    """

    config: PravegaConfig
    stream: StreamName
    write_id: str
    generation: int
    commit_ledger: str | None
    options: Mapping[str, str]
    columns: list[tuple[str, str]] = field(default_factory=list)

    @classmethod
    def named(
        cls,
        config: PravegaConfig,
        stream: str,
        write_id: str,
        *,
        rebuild: int | str,
        commit_ledger: str | None,
        options: Mapping[str, str],
    ) -> Self:
        """Make the write from an operator's rendered arguments.

        Raises:
            ConfigurationError: an argument cannot work.
        """
        generation = parse_generation(rebuild)
        name = StreamName.parse(stream, config.scope)
        ledger_name(commit_ledger, name.scope)
        return cls(config, name, write_id, generation, commit_ledger, options)

    @property
    def sink(self) -> Sink:
        """The write as the sink of a claim."""
        target, ledger = str(self.stream), self.commit_ledger
        return Sink(kind="write", target=target, id=self.write_id, generation=self.generation, ledger=ledger)

    def writer(self, frame: "DataFrame", claimant: str | None = None) -> "DataFrameWriter":
        """A writer of the rows of a frame; its `save` writes them, or compares them with the rows that are written.

        The record names the claimant.
        """
        if _ENCODE_OPTION in {name.lower() for name in self.options}:
            self.columns.extend(columns_of(frame, _ROUTING_KEY))
        ledger = {LEDGER_OPTION: self.commit_ledger} if self.commit_ledger else {}
        options = {**self.options, **ledger}
        return events_writer(frame, self.config, self.stream, self.write_id, options, self.generation, claimant)

    def run(self, client: PravegaClient, write: Callable[[], None], log: Any) -> dict[str, Any]:
        """Write, and return the operator's result; see `PravegaSparkWriteOperator`.

        Args:
            client: a connected client.
            write: saves `writer`.
            log: the operator's log.

        Raises:
            PravegaError: the write is done with other rows, or cannot be done.
        """
        # A further try looks like the try of a task that was cleared while it ran: both compare the rows.
        done = write_unless_done(self.stream, self.write_id, lambda: self.find(client), write, claimant=None)
        return self.described(done, log)

    def begin(self, client: PravegaClient, frame: "DataFrame", url: str) -> tuple[Operation, dict[str, Any]]:
        """Have a Spark Connect server begin the write; returns its operation, and plain JSON that `ended` needs.

        Raises:
            PravegaError: the cluster cannot be reached, or the write cannot be done.
            PySparkException: the server refuses the write, or cannot be reached.
        """
        record, claimant = self.find(client), f"a task that waits, {uuid4().hex}"
        operation = begin(self.writer(frame, claimant), url)
        return operation, {
            "write": self._names,
            "attempt": None if record is None else str(record.attempt),
            "claimant": claimant,
            "columns": [list(each) for each in self.columns],
        }

    def ended(
        self, client: PravegaClient, end: OperationEnd, begun: Mapping[str, Any], seconds: float, log: Any
    ) -> dict[str, Any]:
        """Check that the write that was begun is done, and return the operator's result.

        Args:
            client: a connected client.
            end: the end of the operation. If the server does not know it any more, only a record of this try counts.
            begun: what `begin` gave.
            seconds: how long it took.
            log: the operator's log.

        Raises:
            AirflowException: the server does not know the operation any more, and it has not written.
            ConfigurationError: the write that was begun has other names.
            PravegaError: the cluster cannot be reached.
        """
        if begun["write"] != self._names:
            raise ConfigurationError(
                f"the write was begun as {begun['write']}, but the task's arguments make it {self._names} now: give "
                "templates that have the same value whenever they are rendered"
            )
        record, attempt = self.find(client), begun["attempt"] and UUID(begun["attempt"])
        if record is None or record.claimant != begun["claimant"]:
            check_known(end)
        self.columns.extend((name, kind) for name, kind in begun["columns"])
        return self.described(written_since(attempt, self.stream, self.write_id, record, seconds), log)

    @property
    def _names(self) -> list[Any]:
        return [str(self.stream), self.write_id, self.generation, self.commit_ledger]

    def part(self, stream: StreamName) -> Self:
        """The write as one of a stream among several."""
        return replace(self, stream=stream)

    def order(self) -> WriteOrder:
        """The write as an order for a program that runs in another process."""
        ledger = {LEDGER_OPTION: self.commit_ledger} if self.commit_ledger else {}
        return WriteOrder(self.stream, self.write_id, self.generation, None, {**self.options, **ledger})

    def find(self, client: PravegaClient) -> CommitRecord | None:
        """The record of the write, if it is done.

        Raises:
            PravegaError: the cluster cannot be reached, or the write cannot be done.
        """
        return client.run(
            finished_write(client.asynchronous, self.stream, self.write_id, self.commit_ledger, self.generation)
        )

    def described(self, done: Written, log: Any) -> dict[str, Any]:
        """Log the events and bytes that the stream holds of the write, and return them as the operator's result."""
        cuts, errors = done.record.cuts, done.record.errors
        if errors is not None and errors.rows:
            log.warning("%d errors of %s are in %s. One at %s", errors.rows, self.stream, errors.sink, errors.first)
        log.info(
            "%s to %s %s: %d events, %s bytes, write id %r, generation %d",
            "Written" if done.by_this_try else "Written already",
            self.stream,
            shown(cuts),
            done.record.total_events,
            f"{done.record.total_bytes:,}",
            self.write_id,
            self.generation,
        )
        return {
            "stream": str(self.stream),
            "write_id": self.write_id,
            "generation": self.generation,
            "events": done.record.total_events,
            "bytes": done.record.total_bytes,
            "cuts": cuts and cuts.to_json(),
            "written": done.by_this_try,
            "seconds": round(done.seconds, 3),
            **({} if errors is None else {"errors": errors.rows, "first_error": errors.first}),
        }

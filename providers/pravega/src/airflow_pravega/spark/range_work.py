"""The work of a submitted program, as Airflow's side has it: a range of a stream, a write, and what was reported."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, Self

from airflow.sdk import Context

from aiopravega import StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.errors import ConfigurationError
from airflow_pravega.asset_events import tell, took, written
from airflow_pravega.lineage import Lineage, range_read, written_once
from airflow_pravega.spark.range import FixedRange, times_options
from airflow_pravega.spark.writing import OnceWrite
from airflow_pravega.tasks import intervals
from airflow_pravega.tasks.intervals import shown
from pravega_jobs.remote.orders import InputOrder, RangeOrder, WorkOrder, connection_without_secrets
from pravega_jobs.writes import Written

_EVENTS: Final = "events"


@dataclass(frozen=True, slots=True)
class RangeWork(FixedRange):
    """One range that a program reads, and its write, if there is one."""

    options: Mapping[str, str]
    once: OnceWrite | None

    @classmethod
    def of(
        cls,
        client: PravegaClient,
        stream: str,
        given: Mapping[str, str],
        options: Mapping[str, str],
        once: OnceWrite | None,
        submitted: Mapping[str, Any] | None = None,
    ) -> Self:
        """The work of an operator's arguments; `submitted` is the one that was handed over, as `fixed` gives it.

        Raises:
            PravegaError: an argument cannot work, or the cluster cannot be reached.
        """
        name = StreamName.parse(stream, client.config.scope)
        times_options(given, options)
        found = FixedRange.find(client, name, given, submitted)
        return cls(client, name, given, found.cuts, found.size, options, once)

    def declare(self, context: Context) -> None:
        """Record what the task is about to write, before it begins."""
        intervals.declare(self.client, self.stream, self.given, None if self.once is None else self.once.sink, context)

    def lineage(self, events: int | None = None, output: Mapping[str, Any] | None = None) -> Lineage:
        """The inputs and outputs of the task, as far as they are known."""
        config = self.client.config
        source = replace(range_read(config, self.stream, self.cuts, self.given, bytes=self.size), events=events)
        if self.once is None or output is None:
            return Lineage((source,))
        return Lineage((source,), (written_once(config, dict(output), self.once.columns),))

    def order(self, more: Mapping[str, str] | None = None) -> WorkOrder:
        """The order for the program; `more` are options of its read that only this try has."""
        times = None
        if "since" in self.given and "until" in self.given:
            times = (datetime.fromisoformat(self.given["since"]), datetime.fromisoformat(self.given["until"]))
        piece = RangeOrder(self.cuts, self.size, times)
        return WorkOrder(
            connection_without_secrets(self.client.config),
            {_EVENTS: InputOrder(self.stream, (piece,), {**self.options, **(more or {})})},
            None if self.once is None else self.once.order(),
        )

    def finish(self, report: Mapping[str, Any] | None, seconds: float, log: Any, context: Context) -> dict[str, Any]:
        """Check what the program has reported, and finish the interval; returns the task's result.

        Raises:
            ConfigurationError: the program has not reported, not read its range, or not done its write.
            PravegaError: the cluster cannot be reached.
        """
        if report is None:
            raise ConfigurationError(
                "the program has ended well, but has not reported: let it open its work by open_pravega_work of "
                "pyspark_pravega.remote.airflow, and end the block without an error"
            )
        if _EVENTS not in report["inputs"]:
            raise ConfigurationError(
                "the program has ended well, but it has not read its range, which is therefore not done: let it call "
                "work.read(spark)"
            )
        events: int | None = report["inputs"][_EVENTS]["events"]
        output = None if self.once is None else self._output(self.once, report, log)
        intervals.finish(self.client, self.stream, self.given, self.cuts, context)
        made = () if output is None else (written(output, self.given),)
        tell(context, *made, took(self.stream, self.cuts, self.given, rows=events, bytes=self.size))
        log.info("Processed %s %s: %s events, %s bytes", self.stream, shown(self.cuts), events, f"{self.size:,}")
        return {
            "stream": str(self.stream),
            "events": events,
            "bytes": self.size,
            "cuts": self.cuts.to_json(),
            "seconds": round(seconds, 3),
            "output": output,
            "reported": report["values"],
        }

    def _output(self, once: OnceWrite, report: Mapping[str, Any], log: Any) -> dict[str, Any]:
        record, output = once.find(self.client), report["output"]
        if record is None or output is None:
            raise ConfigurationError(
                f"the program has ended well, but it has not written {once.write_id!r} to {once.stream}: let it call "
                "work.write(frame), or leave out into"
            )
        return once.described(Written(record, output["by_this_try"], output["seconds"]), log)

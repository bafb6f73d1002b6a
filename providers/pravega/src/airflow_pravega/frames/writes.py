"""Writes of what a task with a frame has made: into one stream, or into several sinks that are decided together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from aiopravega import PravegaConfig, StreamName
from aiopravega.blocking.intervals import TakenRange
from aiopravega.errors import ConfigurationError
from aiopravega.ledger import Sink
from airflow_pravega.spark.writing import OnceWrite
from pravega_jobs.landing import table_of

if TYPE_CHECKING:
    from aiopravega.blocking.registry import SchemaRegistry


@dataclass(frozen=True, slots=True)
class FrameWrite:
    """The write of a task, by its rendered arguments.

    Args:
        once: the write into its first stream, which names it.
        errors: the errors stream; None: there is none.
        most_errors: the most errors.
        sinks: all sinks, by the names that the task's function gives them; empty: the stream of `once` is the only one.
    """

    once: OnceWrite
    errors: str | None
    most_errors: int | str | None
    sinks: Mapping[str, StreamName | str]

    @classmethod
    def named(
        cls,
        config: PravegaConfig,
        into: str | Sequence[str],
        write_id: str,
        *,
        rebuild: int | str,
        commit_ledger: str | None,
        options: Mapping[str, str],
        errors: str | None,
        most_errors: int | str | None,
    ) -> Self:
        """Make the write.

        Raises:
            ConfigurationError: an argument cannot work.
        """
        sinks = {} if isinstance(into, str) else sinks_of(into, config.scope)
        streams = sorted((name for name in sinks.values() if isinstance(name, StreamName)), key=str)
        first = into if isinstance(into, str) else str(streams[0])
        once = OnceWrite.named(config, first, write_id, rebuild=rebuild, commit_ledger=commit_ledger, options=options)
        return cls(once, errors, most_errors, sinks)

    @property
    def sink(self) -> Sink:
        """The write as the sink of a claim: the ledger knows all streams by one of them, and the tables that wait."""
        return self.once.sink

    def put(
        self,
        taken: TakenRange,
        cuts: Mapping[str, str],
        registry: "SchemaRegistry | None",
        made: Any,
        log: Any,
    ) -> list[dict[str, Any]]:
        """Write; returns the facts of each stream. `cuts` is the range as it was given, maybe with its event times.

        Raises:
            PravegaError: as of `write_arrow` and `write_streams`.
        """
        from pravega_jobs.frames import write_arrow, write_streams

        once = self.once
        given: dict[str, Any] = {
            "registry": registry,
            "ledger": once.commit_ledger,
            "generation": once.generation,
            "errors": self.errors,
            "most_errors": self.most_errors,
            "consumer": taken.consumer,
            "interval": taken.interval,
            **once.options,
        }
        if not self.sinks:
            done = write_arrow(taken.client, made, once.stream, once.write_id, **given)
            return [once.described(done, log)]
        rows: dict[Any, Any] = {self.sinks[name]: frame for name, frame in made.items()}
        done = write_streams(taken.client, rows, once.write_id, cuts=cuts, **given)
        return [
            once.part(stream).described(replace(done, record=done.record.of(stream)), log)
            for stream in done.record.streams
        ]


def sinks_of(into: Sequence[str], scope: str | None) -> dict[str, StreamName | str]:
    """The sinks of a list, by the texts that name them: streams, and texts of tables.

    Raises:
        ConfigurationError: a text is not a name, or one is there twice, or there is no stream.
    """
    found: dict[str, StreamName | str] = {}
    for text in into:
        found[text] = table_of(text).location() if ":" in text else StreamName.parse(text, scope)
    if len(set(found.values())) != len(into) or not any(isinstance(each, StreamName) for each in found.values()):
        raise ConfigurationError(
            f"into is {list(into)!r}, but must name at least one stream, and each sink once. A result for tables "
            "only is landed: give table"
        )
    return {text: text if ":" in text else name for text, name in found.items()}

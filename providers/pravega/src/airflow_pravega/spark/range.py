"""One range of a stream in a Spark operator: checked first, read again unsplit if need be, then recorded as done."""

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from airflow.sdk import BaseOperatorLink, Context

from aiopravega import StreamCutRange, StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.errors import ConfigurationError
from aiopravega.ledger import Sink
from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.lineage import Lineage, columns_of, range_read
from airflow_pravega.lineage.reporting import ReportsLineage
from airflow_pravega.links import LinkedToConsumer, PravegaSparkLink
from airflow_pravega.spark.operator import PravegaSparkOperator
from airflow_pravega.tasks.failures import ProcessesInterval, failing_for_good
from airflow_pravega.tasks.intervals import declare, finish
from pravega_jobs.ranges import fix_range
from pravega_jobs.retries import unsplit_if_need_be
from pravega_jobs.spark.frames import load_range
from pravega_jobs.spark.options import TIME_OPTION, check_columns, interval_options, with_columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

R = TypeVar("R")
_DECODE_OPTION: Final = "decode"


@dataclass(frozen=True, slots=True)
class FixedRange:
    """A range with both ends, and its bytes (event headers included). `given` is the range as the task has it."""

    client: PravegaClient
    stream: StreamName
    given: Mapping[str, str]
    cuts: StreamCutRange
    size: int

    @classmethod
    def find(
        cls,
        client: PravegaClient,
        stream: StreamName,
        given: Mapping[str, str],
        submitted: Mapping[str, Any] | None = None,
    ) -> "FixedRange":
        """The range of an operator's arguments; `submitted` is what `fixed` gave before the task left its worker.

        Raises:
            PravegaError: the range cannot work, or the cluster cannot be reached.
        """
        if submitted is not None:
            return FixedRange(client, stream, given, StreamCutRange.from_json(submitted["cuts"]), submitted["bytes"])
        cuts = StreamCutRange.from_json(given)
        found = client.run(fix_range(client.asynchronous, stream, cuts.start, cuts.end))
        return FixedRange(client, stream, given, found.cuts, found.size)

    def fixed(self) -> dict[str, Any]:
        """The cuts and the bytes of the range, as plain JSON."""
        return {"cuts": self.cuts.to_json(), "bytes": self.size}


@dataclass(frozen=True, slots=True)
class Processed(Generic[R]):
    """A range that was processed: its bytes (event headers included), the seconds that it took, and the result."""

    stream: StreamName
    cuts: StreamCutRange
    size: int
    seconds: float
    result: R


class PravegaSparkRangeOperator(ReportsLineage, LinkedToConsumer, ProcessesInterval, PravegaSparkOperator):
    """A Spark operator that reads one range.

    Args:
        columns: the columns of the decoded events, as SQL writes them: `id long, price double`. (templated)
    """

    operator_extra_links: Collection[BaseOperatorLink] = (*LinkedToConsumer.operator_extra_links, PravegaSparkLink())
    template_fields: Sequence[str] = ("columns", *PravegaSparkOperator.template_fields)

    def __init__(self, *, columns: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.columns = columns

    def process_range(
        self,
        context: Context,
        given: Mapping[str, str],
        work: "Callable[[PravegaClient, DataFrame], R]",
        *,
        options: Mapping[str, str] | None = None,
        sink: Sink | None = None,
    ) -> Processed[R]:
        """Have a function process a range, and record that the interval which the range names is done, or has failed.

        Args:
            context: the task's context.
            given: the range, with the names and times that it may have.
            work: gets a connected client, and the range as a DataFrame. It is called a second time if a segment turns
                out to be split at a wrong offset.
            options: options of the data source; by default the task's, with its columns.
            sink: the target of the function's write, which a take-over of the range can ask.

        Raises:
            AirflowFailException: the stream, the range or an option cannot work.
            PravegaError: the cluster cannot be reached.
        """
        hook = PravegaHook(self.pravega_conn_id)
        with self.failures_recorded(hook, given, context), failing_for_good():
            named = self.read_options(given, options)
            with self.fixed_range(hook, context, given) as found:
                declare(found.client, found.stream, given, sink, context)
                began = time.monotonic()
                with self.session(hook, context) as spark:

                    def read(more: Mapping[str, str]) -> R:
                        return work(found.client, self.load(spark, found, {**named, **more}))

                    result = unsplit_if_need_be(read, self.log.warning)
                finish(found.client, found.stream, given, found.cuts, context)
        return Processed(found.stream, found.cuts, found.size, round(time.monotonic() - began, 3), result)

    def read_options(self, given: Mapping[str, str], options: Mapping[str, str] | None) -> dict[str, str]:
        """Options of the data source for a range and its event times; None: the task's own options.

        Raises:
            ConfigurationError: the range or an option cannot work.
        """
        StreamCutRange.from_json(given)
        times = times_options(given, self.options)
        named = with_columns(self.options, self.columns) if options is None else options
        check_columns(named)
        return {**named, **times}

    @contextmanager
    def fixed_range(
        self,
        hook: PravegaHook,
        context: Context,
        given: Mapping[str, str],
        submitted: Mapping[str, Any] | None = None,
    ) -> Iterator[FixedRange]:
        """A client, and the range that it finds, or that was handed over."""
        config = hook.get_config()
        stream = StreamName.parse(self.stream, config.scope)
        self.link_to_consumer(context, stream, given)
        with hook.get_client() as client:
            found = FixedRange.find(client, stream, given, submitted)
            self.lineage = Lineage((range_read(config, stream, found.cuts, given, bytes=found.size),))
            yield found

    def load(self, spark: "SparkSession", found: FixedRange, options: Mapping[str, str]) -> "DataFrame":
        """The events of a range, whose columns are described if they are decoded."""
        frame = load_range(spark, found.client.config, found.stream, found.cuts, options)
        if _DECODE_OPTION in {name.lower() for name in options}:
            self.describe_input(columns=columns_of(frame))
        return frame

    def describe_input(self, **more: Any) -> None:
        """Add to what is known of the task's input."""
        [source] = self.lineage.inputs
        self.lineage = replace(self.lineage, inputs=(replace(source, **more),))


def times_options(cuts: Mapping[str, str], options: Mapping[str, str]) -> dict[str, str]:
    """Options that leave out the events of other times, if the range is one of event times.

    Raises:
        ConfigurationError: the range is of event times, and the options of the read do not name their column.
    """
    if "since" not in cuts or "until" not in cuts:
        return {}
    if TIME_OPTION not in {name.lower() for name in options}:
        raise ConfigurationError(
            f"stream_cuts is of the event times {cuts['since']} to {cuts['until']}, and its range also has events of "
            f"other times: name their column by options={{{TIME_OPTION!r}: …}}, and give 'decode' there"
        )
    return interval_options(cuts["since"], cuts["until"])

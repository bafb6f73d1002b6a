"""Operators that find StreamCuts, as plain JSON for other tasks: the begin and end of a stream, parts of a range."""

from collections.abc import Mapping, Sequence
from typing import Any

from airflow.sdk import Context, XComArg

from aiopravega import StreamCutRange, StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.errors import ConfigurationError
from aiopravega.positions import Position
from airflow_pravega.asset_events import tell, took
from airflow_pravega.operators.stream_operator import PravegaStreamOperator
from airflow_pravega.tasks.arguments import EARLIEST, LATEST, position_of, whole_number
from airflow_pravega.tasks.failures import ProcessesInterval
from airflow_pravega.tasks.intervals import check_mappable, finish, range_of, shown
from pravega_jobs.ranges import fix_range


class PravegaStreamCutOperator(PravegaStreamOperator):
    """Returns a range of a stream, `{"start": text, "end": text}`: by default from its head to its tail now.

    One cut alone is `operator.output["start"]` or `["end"]`. The range is checked against the stream.

    Args:
        stream: `scope/stream`, or a stream of the connection's default scope. (templated)
        start: `"earliest"` (the head), `"latest"` (the tail), the text of a cut, or a range, which stands for its end.
            (templated)
        end: in the same way. (templated)
        pravega_conn_id: id of the connection. (templated)
    """

    template_fields: Sequence[str] = ("stream", "start", "end", "pravega_conn_id")

    def __init__(
        self,
        *,
        start: str | Mapping[str, str] | XComArg = EARLIEST,
        end: str | Mapping[str, str] | XComArg = LATEST,
        **kwargs: Any,
    ) -> None:
        kwargs.setdefault("multiple_outputs", True)  # so that `output["…"]` works
        super().__init__(**kwargs)
        self.start = start
        self.end = end

    def check_arguments(self, stream: StreamName, context: Context) -> None:
        super().check_arguments(stream, context)
        self._positions(stream)

    def work(self, client: PravegaClient, stream: StreamName, context: Context) -> dict[str, str]:
        """Find the cuts."""
        del context
        fixed = client.run(fix_range(client.asynchronous, stream, *self._positions(stream)))
        self.log.info("%s %s: %s bytes", stream, shown(fixed.cuts), f"{fixed.size:,}")
        return fixed.cuts.to_json()

    def _positions(self, stream: StreamName) -> tuple[Position, Position]:
        return position_of(self.start, stream), position_of(self.end, stream)


class PravegaSplitRangeOperator(PravegaStreamOperator):
    """Returns the parts of a range, `[{"start": text, "end": text}, …]`, for tasks that are mapped over them.

    `PravegaSparkReadOperator.partial(…).expand(stream_cuts=split.output)` reads them side by side. Together they are
    the range, with ends between events; read one after another, they give the events of each routing key in the order
    of their writing. There are fewer parts if the range is small. A part has no interval: put a
    `PravegaFinishRangeOperator` after the mapped tasks, which finishes the interval of the whole range.

    Args:
        stream: `scope/stream`, or a stream of the connection's default scope. (templated)
        stream_cuts: the range, `{"start": text, "end": text}`, such as a sensor's output. A range of event times is
            refused. (templated)
        parts: number of parts, of about equal size. (templated)
        max_bytes: instead of `parts`, the most bytes of a part, event headers (8 bytes each) included. (templated)
        pravega_conn_id: id of the connection. (templated)
    """

    template_fields: Sequence[str] = ("stream", "stream_cuts", "parts", "max_bytes", "pravega_conn_id")

    def __init__(
        self,
        *,
        stream_cuts: Mapping[str, str] | XComArg,
        parts: int | str | None = None,
        max_bytes: int | str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.stream_cuts = stream_cuts
        self.parts = parts
        self.max_bytes = max_bytes

    def check_arguments(self, stream: StreamName, context: Context) -> None:
        super().check_arguments(stream, context)
        range_of(self.stream_cuts)
        self._sizes()

    def work(self, client: PravegaClient, stream: StreamName, context: Context) -> list[dict[str, str]]:
        """Split the range."""
        whole = range_of(self.stream_cuts)
        count, max_bytes = self._sizes()
        parts = client.split(whole, count, stream, max_bytes=max_bytes)
        check_mappable(context, len(parts), "give fewer parts or a larger max_bytes")
        self.log.info("%s %s: %d parts", stream, shown(whole), len(parts))
        return [part.to_json() for part in parts]

    def _sizes(self) -> tuple[int | None, int | None]:
        """The number of parts, or the bytes of each."""
        given = {"parts": self.parts, "max_bytes": self.max_bytes}
        sizes = {name: whole_number(name, value) for name, value in given.items() if value is not None}
        if len(sizes) != 1 or 0 in sizes.values():
            raise ConfigurationError(
                f"a range is split by parts or by max_bytes: give one of the two, at least 1: {given}"
            )
        return sizes.get("parts"), sizes.get("max_bytes")


class PravegaFinishRangeOperator(ProcessesInterval, PravegaStreamOperator):
    """Records that the interval of a range is done, once all tasks before this one have ended well.

    It ends the tasks that are mapped over the parts of a split range, and a range that your own task processes:
    `read >> PravegaFinishRangeOperator(task_id="done", stream="examples/orders", stream_cuts=wait.output)`. The next
    run of a sensor with `since="last"` waits for it.

    Args:
        stream: `scope/stream`, or a stream of the connection's default scope. (templated)
        stream_cuts: the whole range with the names `consumer` and `interval`, as a sensor gives it. (templated)
        pravega_conn_id: id of the connection. (templated)
    """

    template_fields: Sequence[str] = ("stream", "stream_cuts", "pravega_conn_id")

    def __init__(self, *, stream_cuts: Mapping[str, str] | XComArg, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.stream_cuts = stream_cuts

    def check_arguments(self, stream: StreamName, context: Context) -> None:
        super().check_arguments(stream, context)
        self._given()

    def work(self, client: PravegaClient, stream: StreamName, context: Context) -> None:
        """Finish the interval.

        Raises:
            LedgerError: the interval has another range by now, or no range, or was skipped.
        """
        given = self._given()
        cuts = StreamCutRange.from_json(given)
        finish(client, stream, given, cuts, context)
        tell(context, took(stream, cuts, given))

    def _given(self) -> Mapping[str, str]:
        if not isinstance(self.stream_cuts, Mapping) or not {"consumer", "interval"} <= self.stream_cuts.keys():
            raise ConfigurationError(
                f"stream_cuts is {self.stream_cuts!r}, which names no interval that can be done: give the range of a "
                "sensor, not a part of it"
            )
        return self.stream_cuts

"""The operator that looks up StreamCuts: where a stream begins and ends now, as plain JSON for other tasks."""

from collections.abc import Mapping, Sequence
from typing import Any

from airflow.sdk import BaseOperator, Context, XComArg

from aiopravega import PravegaClient, PravegaConfig, StreamName
from aiopravega.jobs.ranges import fix_range
from aiopravega.loop import LoopThread
from airflow_pravega.early_checks import check_stream
from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.intervals import shown
from airflow_pravega.task_failures import failing_for_good
from airflow_pravega.templated_values import EARLIEST, LATEST, position_of


class PravegaStreamCutOperator(BaseOperator):
    """Returns a range of a stream, `{"start": text, "end": text}`: by default from its head to its tail now.

    One cut alone is `operator.output["start"]` or `["end"]`. The range is checked against the stream.

    Args:
        stream: `scope/stream`, or a stream of the connection's default scope. (templated)
        start: `"earliest"` (the head), `"latest"` (the tail), the text of a cut, or a range, whose end is meant.
            (templated)
        end: the same. (templated)
        pravega_conn_id: id of the connection.
    """

    template_fields: Sequence[str] = ("stream", "start", "end", "pravega_conn_id")

    def __init__(
        self,
        *,
        stream: str,
        start: str | Mapping[str, str] | XComArg = EARLIEST,
        end: str | Mapping[str, str] | XComArg = LATEST,
        pravega_conn_id: str = PravegaHook.default_conn_name,
        **kwargs: Any,
    ) -> None:
        kwargs.setdefault("multiple_outputs", True)  # so that `output["…"]` works
        super().__init__(**kwargs)
        check_stream(stream)
        self.stream = stream
        self.start = start
        self.end = end
        self.pravega_conn_id = pravega_conn_id

    def execute(self, context: Context) -> dict[str, str]:
        """Look up the cuts.

        Raises:
            AirflowFailException: the stream or a cut cannot work.
            PravegaError: the cluster cannot be reached.
        """
        del context
        with failing_for_good():
            return LoopThread.shared().run(self._look(PravegaHook(self.pravega_conn_id).get_config()))

    async def _look(self, config: PravegaConfig) -> dict[str, str]:
        stream = StreamName.parse(self.stream, config.scope)
        async with PravegaClient(config) as client:
            start, end = (position_of(given, stream) for given in (self.start, self.end))
            found = await fix_range(client, stream, start, end)
        self.log.info("%s %s: %s bytes", stream, shown(found.cuts), f"{found.size:,}")
        return found.cuts.to_json()

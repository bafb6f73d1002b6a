"""The operator that asks people before a write is written again, as its next generation."""

from collections.abc import Sequence
from typing import Any, Final

from airflow.sdk import Context

from aiopravega import StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.errors import ConfigurationError, StreamNotFoundError, TableNotFoundError
from aiopravega.ledger import CommitRecord
from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.links import LinkedToStream
from airflow_pravega.operators.decision import LEAVE, LEAVING, DecisionOperator, effects_of, table_of
from airflow_pravega.tasks.arguments import check_stream
from airflow_pravega.tasks.asking import Decision, Question
from airflow_pravega.tasks.failures import failing_for_good
from airflow_pravega.tasks.identity import write_name
from pravega_jobs.writes import parse_generation

AGAIN: Final = "Write it again"
_EFFECTS: Final = {
    AGAIN: "the tasks after this one run: rows of the next generation are written after those that are there, and "
    "readers of the newest generation take them instead",
    LEAVE: LEAVING,
}


class PravegaRebuildDecisionOperator(LinkedToStream, DecisionOperator):
    """Asks people before the rows of a write are written again, as `rebuild` of the task after this one says.

    It asks with the generations that are in the stream: their events, bytes and times. Nothing is asked if the write
    has no rows yet, or if the ledger has this generation already, so that the write compares its rows only.

    Returns `{"decision"}`: the choice, with who has made it and when; None: nothing had to be decided.

    Args:
        stream: the stream that is written to: `scope/stream`, or a stream of the connection's default scope.
            (templated)
        rebuild: the generation that the write will have; 1 asks nobody. A number or its text. (templated)
        of_task: the id of the task that writes under its own name, in the same run; or give `write_id`. (templated)
        write_id: the name of the write. (templated)
        commit_ledger: `scope/table` of the commit ledger; by default the one in the stream's scope. (templated)
        pravega_conn_id: id of the connection. (templated)
    """

    template_fields: Sequence[str] = ("stream", "rebuild", "of_task", "write_id", "commit_ledger", "pravega_conn_id")
    choices = tuple(_EFFECTS)

    def __init__(
        self,
        *,
        stream: str,
        rebuild: int | str,
        of_task: str | None = None,
        write_id: str | None = None,
        commit_ledger: str | None = None,
        pravega_conn_id: str = PravegaHook.default_conn_name,
        **kwargs: Any,
    ) -> None:
        super().__init__(pravega_conn_id=pravega_conn_id, **kwargs)
        check_stream(stream)
        if (of_task is None) == (write_id is None):
            with failing_for_good():
                raise ConfigurationError(
                    "name the write: by of_task, the task that writes, or by write_id; by one of them"
                )
        self.stream = stream
        self.rebuild = rebuild
        self.of_task = of_task
        self.write_id = write_id
        self.commit_ledger = commit_ledger

    def question(self, client: PravegaClient, context: Context) -> Question | None:
        """The generations that are there, if the write is to get another one."""
        stream = StreamName.parse(self.stream, client.config.scope)
        self.link_to_stream(context, stream)
        generation = parse_generation(self.rebuild)
        write_id = self.write_id or write_name(context, self.of_task)
        try:
            written = client.written(stream, write_id, ledger=self.commit_ledger)
        except (StreamNotFoundError, TableNotFoundError):
            written = []
        if not written or generation <= written[-1].generation:
            return None
        heads = ("generation", "events", "bytes", "done", "by")
        body = f"{table_of(heads, [_row(record) for record in written])}\n\n{effects_of(_EFFECTS)}"
        return Question(f"Write {write_id!r} to {stream} again, as generation {generation}?", body, self.choices)

    def act(self, client: PravegaClient, decision: Decision, context: Context) -> dict[str, Any]:
        """Do nothing: the tasks after this one write."""
        del client, decision, context
        return {}


def _row(record: CommitRecord) -> tuple[object, ...]:
    done = record.done_at.isoformat(timespec="seconds") if record.done_at else "not known"
    return record.generation, f"{record.total_events:,}", f"{record.total_bytes:,}", done, record.by or "not known"

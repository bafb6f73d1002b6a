"""The base of the operators that ask people what only people can decide about a ledger.

They look, ask if something has to be decided, look again when somebody has answered, and do what was chosen.
"""

from abc import abstractmethod
from typing import Any, Final

from airflow.providers.common.compat.sdk import AirflowSkipException
from airflow.sdk import Context

from aiopravega.blocking import PravegaClient
from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.tasks.asking import AsksPeople, Decision, Question
from airflow_pravega.tasks.failures import failing_for_good
from airflow_pravega.tasks.identity import records_nothing
from airflow_pravega.tasks.intervals import TO_RECORD

# Intervals or writes that one question is about: nobody decides about what a question does not show.
MOST_ASKED: Final = 50
LEAVE: Final = "Leave it as it is"
LEAVING: Final = "nothing is changed; the tasks after this one are skipped, and the next run asks again"


class DecisionOperator(AsksPeople):
    """An operator that asks people if something has to be decided, and does what they choose.

    Args:
        pravega_conn_id: id of the connection.
    """

    def __init__(self, *, pravega_conn_id: str = PravegaHook.default_conn_name, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.pravega_conn_id = pravega_conn_id

    def execute(self, context: Context) -> dict[str, Any]:
        """Look, and ask people if something has to be decided.

        Returns:
            `{"decision": None}`: nothing has to be decided.

        Raises:
            AirflowSkipException: a test records nothing, so that nothing can be decided.
            AirflowFailException: an argument cannot work.
            PravegaError: the cluster cannot be reached.
        """
        if records_nothing(context):
            raise AirflowSkipException(f"A decision changes a ledger. {TO_RECORD}")
        with failing_for_good(), PravegaHook(self.pravega_conn_id).get_client() as client:
            question = self.question(client, context)
        if question is not None:
            self.ask(question, context)
        self.log.info("Nothing has to be decided")
        return {"decision": None}

    def execute_complete(self, context: Context, event: dict[str, Any]) -> dict[str, Any]:
        """Do as people have decided, if it is still what they were asked about.

        Returns:
            `{"decision": {"choice", "by", "at"}}`, and what was done.

        Raises:
            AirflowException: nobody has answered in time, or it has changed meanwhile: the next try asks again.
            AirflowSkipException: people have decided to leave it as it is.
            AirflowFailException: an argument cannot work.
            PravegaError: the cluster cannot be reached.
        """
        decision = self.decision_in(event)
        with failing_for_good(), PravegaHook(self.pravega_conn_id).get_client() as client:
            question = self.question(client, context)
            if question is None:
                return {"decision": None}
            self.check_still_asked(question, context)
            if decision.choice == LEAVE:
                raise AirflowSkipException(f"{decision.by} leaves it as it is: {question.subject}")
            done = self.act(client, decision, context)
        self.log.info("Done: %s", done)
        return {"decision": decision.to_json(), **done}

    @abstractmethod
    def question(self, client: PravegaClient, context: Context) -> Question | None:
        """The question; None if nothing has to be decided."""

    @abstractmethod
    def act(self, client: PravegaClient, decision: Decision, context: Context) -> dict[str, Any]:
        """Do what was chosen, after `question` has looked; returns what was done, as plain JSON."""


def table_of(heads: tuple[str, ...], rows: list[tuple[object, ...]]) -> str:
    """Rows as a table in Markdown."""
    lines = [heads, ("---",) * len(heads), *rows]
    return "\n".join(f"| {' | '.join(_cell(each) for each in line)} |" for line in lines)


def _cell(value: object) -> str:
    return str(value).replace("|", "\\|").replace("\n", " ")


def effects_of(effects: dict[str, str]) -> str:
    """The choices with what each one does, as a table in Markdown."""
    return table_of(("choice", "what happens"), list(effects.items()))

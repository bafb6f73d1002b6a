"""Questions to people, who answer in Airflow's UI or by its API: the human in the loop of Airflow's standard provider.

A try asks once: Airflow keeps the text of the first question of a task instance, and gives most tries a new instance.
What a question was about can change until somebody answers. So the task looks again then, and acts only if the question
would be the same.
"""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any, Final, NoReturn

from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException
from airflow.sdk import Context
from airflow.sdk.bases.notifier import BaseNotifier
from airflow.sdk.execution_time.comms import CreateHITLDetailPayload

from aiopravega.errors import ConfigurationError
from airflow_pravega.tasks.failures import failing_for_good
from airflow_pravega.tasks.templates import TemplatedTexts

# The XCom with the question of a task.
ASKED: Final = "asked"


@dataclass(frozen=True, slots=True)
class Question:
    """A question: a line, a text in Markdown with the numbers to decide by, and the choices."""

    subject: str
    body: str
    choices: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """The question as plain JSON."""
        return {"subject": self.subject, "body": self.body, "choices": list(self.choices)}


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer: a choice, who has made it, and when (ISO 8601)."""

    choice: str
    by: str
    at: str

    def to_json(self) -> dict[str, str]:
        """The decision as plain JSON."""
        return asdict(self)


class AsksPeople(TemplatedTexts):
    """An operator that can ask people, and continues when somebody has answered.

    On Airflow 3.3 the waiting task needs no process; before, it waits on the triggerer.

    Args:
        assigned_users: the users who may answer, each `{"id", "name"}`; by default all who may answer for the DAG.
        notifiers: notifiers of Airflow that are called when the question is asked.
        response_timeout: the longest time to wait for an answer; by default without limit.
        default_choice: the choice that counts if nobody answers in that time; by default the try fails.
    """

    # All choices that the operator's questions can have.
    choices: tuple[str, ...] = ()

    def __init__(
        self,
        *,
        assigned_users: Sequence[Mapping[str, str]] = (),
        notifiers: Sequence[BaseNotifier] = (),
        response_timeout: timedelta | None = None,
        default_choice: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        with failing_for_good():
            if default_choice is not None and default_choice not in self.choices:
                raise ConfigurationError(f"default_choice is {default_choice!r}, but must be one of {self.choices}")
            if default_choice is not None and response_timeout is None:
                raise ConfigurationError("default_choice needs response_timeout, the time after which it counts")
        self.assigned_users = assigned_users
        self.notifiers = notifiers
        self.response_timeout = response_timeout
        self.default_choice = default_choice

    @property
    def has_asking_arguments(self) -> bool:
        """True if an argument says how to ask."""
        return bool(self.assigned_users or self.notifiers) or self.response_timeout is not None

    def ask(self, question: Question, context: Context) -> NoReturn:
        """Ask, and let the task wait; it continues with `execute_complete` when somebody has answered.

        Raises:
            AirflowException: Airflow would show the question of an earlier try, which differs; the next try asks.
            BaseException: Airflow's signal that the task waits.
        """
        from airflow.providers.standard.operators.hitl import HITLOperator
        from airflow.sdk.execution_time.task_runner import SUPERVISOR_COMMS  # Airflow sets it when a task runs

        default = self.default_choice
        asks = HITLOperator(
            task_id=self.task_id,
            subject=question.subject,
            body=question.body,
            options=list(question.choices),
            defaults=None if default is None or default not in question.choices else [default],
            assigned_users=[dict(each) for each in self.assigned_users],  # type: ignore[misc]  # dicts of this form
            notifiers=list(self.notifiers),
            response_timeout=self.response_timeout,
        )
        asked = {
            "ti_id": context["ti"].id,
            "subject": asks.subject,
            "body": asks.body,
            "options": asks.options,
            "defaults": asks.defaults,
            "assigned_users": asks.assigned_users or [],
            "params": {},
        }
        shown: Any = SUPERVISOR_COMMS.send(CreateHITLDetailPayload.model_validate(asked))
        # A try that Airflow's scheduler has failed is followed by one of the same instance.
        if (shown.subject, shown.body, shown.options) != (asks.subject, asks.body, asks.options):
            raise AirflowException(f"Airflow shows the question of an earlier try, which differs: {shown.subject}")
        context["ti"].xcom_push(ASKED, question.to_json())
        self.log.info("Asks people: %s\n%s", question.subject, question.body)
        # Airflow warns of an operator that another one executes. A notifier makes links for the operator that asks.
        inspect.unwrap(HITLOperator.execute)(asks, {**context, "task": asks})
        raise AssertionError("an operator that asks has not waited")

    def decision_in(self, event: Mapping[str, Any]) -> Decision:
        """The decision in the event with which the task continues.

        Raises:
            AirflowException: nobody has answered in time; the next try asks again.
        """
        if "error" in event:
            raise AirflowException(f"nobody has answered: {event['error']}")
        user, at, [choice] = event["responded_by_user"], event["responded_at"], event["chosen_options"]
        by = "nobody in time, so the default counts" if user is None else user["name"] or user["id"]
        decision = Decision(choice, by, at.isoformat() if isinstance(at, datetime) else str(at))
        self.log.info("Decided by %s: %s", by, choice)
        return decision

    def check_still_asked(self, question: Question, context: Context) -> None:
        """Check that the question is the one that was answered.

        Raises:
            AirflowException: what it is about has changed meanwhile; the next try asks again.
            AirflowFailException: the same, and there is no next try.
        """
        ti = context["ti"]
        asked = ti.xcom_pull(task_ids=ti.task_id, key=ASKED, map_indexes=ti.map_index)
        if asked == question.to_json():
            return
        changed = (
            "what was asked about has changed since, so the answer is not acted on. It was:\n"
            f"{(asked or {}).get('body')}\nIt is:\n{question.body}"
        )
        if ti.try_number > ti.max_tries:
            raise AirflowFailException(f"{changed}\nClear the task: it asks again. With retries= it asks by itself")
        raise AirflowException(changed)


def author_of(decision: Decision, context: Context) -> str:
    """The author of a change that people have decided, for the records of a ledger."""
    ti = context["ti"]
    return f"{decision.by}, asked by {ti.dag_id}/{ti.task_id} in {ti.run_id}"

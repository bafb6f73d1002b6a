"""Answers to questions of tasks, as Airflow's API and its scheduler give them."""

from datetime import UTC, datetime
from importlib import import_module
from typing import Any

from airflow.models import TaskInstance
from airflow.models.hitl import HITLDetail
from airflow.models.trigger import handle_event_submit
from airflow.triggers.base import TriggerEvent
from airflow.utils.session import create_session
from sqlalchemy import select
from sqlalchemy.exc import OperationalError

# Before Airflow 3.3, a task that has asked waits on the triggerer.
_AWAITS = "awaiting_input" if hasattr(import_module("airflow.sdk.exceptions"), "TaskAwaitingInput") else "running"


def _waiting(dag_id: str, session: Any) -> tuple[TaskInstance, HITLDetail] | None:
    task = session.scalar(select(TaskInstance).filter_by(dag_id=dag_id, state=_AWAITS))
    detail = None if task is None else session.get(HITLDetail, task.id)
    return None if detail is None else (task, detail)


def has_asked(dag_id: str, asked: list[HITLDetail]) -> bool:
    """True if a task of a DAG waits for an answer; its question is added to `asked`."""
    try:
        with create_session() as session:
            found = _waiting(dag_id, session)
            if found is not None:
                session.expunge(found[1])
                asked.append(found[1])
    except OperationalError:  # the database is locked
        return False
    return found is not None


def has_answered(dag_id: str, choice: str | None) -> bool:
    """Answer as the API does, or let the time be over as the scheduler does; True once the task has continued.

    `dag.test()` stores that a task waits twice, and so may undo that an answer lets it continue.
    """
    try:
        with create_session() as session:
            found = _waiting(dag_id, session)
            if found is not None:
                _answer(*found, choice, session)
                return False
            states = {str(state) for state in session.scalars(select(TaskInstance.state).filter_by(dag_id=dag_id))}
    except OperationalError:  # the database is locked
        return False
    return not states & {"scheduled", "queued", "running"}


def _answer(task: TaskInstance, detail: HITLDetail, choice: str | None, session: Any) -> None:
    event: dict[str, Any] = {"error": "The response timeout has passed", "error_type": "timeout"}
    if choice is not None:
        detail.responded_by, detail.responded_at = {"id": "ann", "name": "Ann"}, datetime.now(UTC)
        detail.chosen_options = [choice]
        event = detail.as_resume_event_payload()
    if _AWAITS == "awaiting_input":
        handle_event_submit(TriggerEvent(event), task_instance=task, session=session)

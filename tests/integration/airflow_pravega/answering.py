"""Answers to questions of tasks, as Airflow's API, its scheduler and its triggerer give them."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib import import_module
from typing import Any

from airflow.models import TaskInstance
from airflow.models.hitl import HITLDetail
from airflow.models.trigger import handle_event_submit
from airflow.sdk.execution_time.comms import GetHITLDetailResponse, UpdateHITLDetail
from airflow.sdk.execution_time.supervisor import InProcessTestSupervisor
from airflow.triggers.base import TriggerEvent
from airflow.utils.session import create_session
from sqlalchemy import select
from sqlalchemy.exc import OperationalError

# Before Airflow 3.3, a task that has asked waits on the triggerer: in `dag.test()` it is queued meanwhile.
_NEEDS_TRIGGER = not hasattr(import_module("airflow.sdk.exceptions"), "TaskAwaitingInput")
_WAITS = ("running", "deferred", "queued") if _NEEDS_TRIGGER else ("awaiting_input",)


@contextmanager
def questions_for_triggers(monkeypatch: Any) -> Iterator[None]:
    """Let triggers of `dag.test()` ask for answers: before Airflow 3.3 only the triggerer's supervisor gives them."""
    handled = InProcessTestSupervisor._handle_request

    def handle(supervisor: Any, request: Any, log: Any, request_id: int) -> None:
        questions = supervisor.client.hitl
        if isinstance(request, GetHITLDetailResponse):
            supervisor.send_msg(questions.get_detail_response(ti_id=request.ti_id), request_id)
        elif isinstance(request, UpdateHITLDetail):
            chosen = {"chosen_options": request.chosen_options, "params_input": request.params_input}
            supervisor.send_msg(questions.update_response(ti_id=request.ti_id, **chosen), request_id)
        else:
            handled(supervisor, request, log, request_id)

    with monkeypatch.context() as patched:
        if _NEEDS_TRIGGER:
            patched.setattr(InProcessTestSupervisor, "_handle_request", handle)
        yield


def _waiting(dag_id: str, session: Any) -> tuple[TaskInstance, HITLDetail] | None:
    chosen = select(TaskInstance).filter_by(dag_id=dag_id).filter(TaskInstance.state.in_(_WAITS))
    task = session.scalar(chosen)
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
    if _NEEDS_TRIGGER and (choice is None or detail.response_received):
        return  # the trigger sees by itself that the time is over, or what was chosen
    if choice is not None:
        detail.responded_by, detail.responded_at = {"id": "ann", "name": "Ann"}, datetime.now(UTC)
        detail.chosen_options = [choice]
    if not _NEEDS_TRIGGER:
        over = {"error": "The response timeout has passed", "error_type": "timeout"}
        event = over if choice is None else detail.as_resume_event_payload()
        handle_event_submit(TriggerEvent(event), task_instance=task, session=session)

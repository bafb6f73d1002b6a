"""Task instances that are deferred in Airflow's database: one by a worker, the others as copies of it.

Import it when the environment has the settings of the database: Airflow reads them once.
"""

import json
import uuid
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from airflow.models.taskinstance import TaskInstance
from airflow.models.trigger import Trigger
from airflow.utils.session import create_session
from airflow.utils.state import TaskInstanceState
from sqlalchemy import func, insert, inspect, select

# Of the tasks: each begins when the triggerer has started the trigger.
TRIGGER_LOGS: Final = "*.trigger.*.log"


def copy_deferred(scope: str, sensors: int, streams: int) -> None:
    """Copy the one deferred task instance and its trigger, until there are enough of them.

    Each copy has a map index, waits for a stream of its own number, and is the only one of its chain, as sensors of
    different DAGs are.
    """
    with create_session() as session:
        first = session.scalars(select(TaskInstance)).one()
        trigger = session.get_one(Trigger, first.trigger_id)
        own = {
            number: Trigger(
                trigger.classpath,
                trigger.kwargs | {"stream": f"{scope}/stream-{number % streams}", "consumer": f"dag-{number}/wait"},
            )
            for number in range(1, sensors)
        }
        session.add_all(own.values())
        session.flush()
        common = {column.key: getattr(first, column.key) for column in inspect(TaskInstance).column_attrs}
        copies: list[Mapping[str, Any]] = [
            common | {"id": uuid.uuid4(), "map_index": number, "trigger_id": each.id} for number, each in own.items()
        ]
        if copies:
            session.execute(insert(TaskInstance), copies)


def unassigned() -> int:
    """The number of triggers that no triggerer has taken."""
    with create_session() as session:
        return session.scalar(select(func.count(Trigger.id)).where(Trigger.triggerer_id.is_(None))) or 0


def woken() -> dict[int, datetime]:
    """By the numbers of the sensors: when the database had the event of its trigger, and the task was to continue."""
    with create_session() as session:
        found = session.execute(
            select(TaskInstance.map_index, TaskInstance.scheduled_dttm).where(
                TaskInstance.state == TaskInstanceState.SCHEDULED
            )
        )
        return {max(index, 0): at for index, at in found if at is not None}  # the first one is not mapped


def fired(logs: Path) -> dict[int, datetime]:
    """By the numbers of the sensors: when its trigger fired, by what the triggerer has logged for the task."""
    found = {}
    for log in logs.rglob(TRIGGER_LOGS):
        for line in log.read_text(encoding="utf-8").splitlines():
            if "Trigger fired event" in line:
                entry = json.loads(line)
                found[max(entry.get("map_index", 0), 0)] = datetime.fromisoformat(entry["timestamp"])
    return found

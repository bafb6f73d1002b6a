"""The base of triggers that wait for work that runs elsewhere, and end it if a person ends the task.

Airflow keeps the paths of triggers' modules in its database.
"""

import asyncio
from abc import abstractmethod
from collections.abc import AsyncIterator, Coroutine
from contextlib import suppress
from typing import Any, ClassVar, Final

from airflow.triggers.base import BaseTrigger, TriggerEvent
from airflow.utils.state import TaskInstanceState
from asgiref.sync import sync_to_async

from aiopravega.errors import PravegaError
from airflow_pravega.tasks.failures import to_event
from airflow_pravega.triggers.waiting import ending_at

_ENDED: Final = "ended"
# Before it answers its first question, a triggerer imports Airflow's API: for seconds, on a busy machine.
_ASKING_SECONDS: Final = 60
# The states of a task that nobody has ended: it waits, or continues since the trigger has fired on another triggerer.
_UNENDED: Final = (
    TaskInstanceState.DEFERRED,
    TaskInstanceState.SCHEDULED,
    TaskInstanceState.QUEUED,
    TaskInstanceState.RUNNING,
)
# Airflow 3.3 tells triggers that a person has ended their task; before, they are only cancelled, as at a shutdown.
_TELLS: Final = hasattr(BaseTrigger, "on_kill")


class PravegaWorkTrigger(BaseTrigger):
    """Fires once, when the work has ended: `{"status": "ended", "end": its end as plain JSON}`.

    An error that waiting cannot heal gives `{"status": "error", "error": class, "message": text}`.

    Args:
        carried: plain JSON that the operator needs when it continues; the event has it under `carried`.
        give_up_at: the time at which it fires in any case, with `{"status": "gave_up"}`; in ISO 8601 with its zone.
    """

    # Names of the arguments, and attributes, that a trigger has besides the ones above; their values are plain JSON.
    own: ClassVar[tuple[str, ...]] = ()

    def __init__(self, *, carried: dict[str, Any], give_up_at: str | None = None) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # Airflow's triggers have no types
        self.carried = carried
        self.give_up_at = give_up_at

    @property
    @abstractmethod
    def work(self) -> str:
        """The work, in lines of the log."""

    @abstractmethod
    async def end_of_work(self) -> dict[str, Any]:
        """Wait for the end of the work, and return it; continue to wait while it cannot be seen.

        Raises:
            PravegaError: one that waiting cannot heal.
        """

    @abstractmethod
    async def on_kill(self) -> None:
        """End the work, since the task was ended."""

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """The class and the arguments, as plain JSON."""
        arguments = {name: getattr(self, name) for name in (*self.own, "carried", "give_up_at")}
        return f"{type(self).__module__}.{type(self).__qualname__}", arguments

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Wait, and yield the one event."""
        try:
            event = await ending_at(self.give_up_at, self._event())
        except PravegaError as error:
            event = to_event(error)
        except asyncio.CancelledError:
            if not _TELLS:
                await to_its_end(self._end_with_its_task())
            raise
        yield TriggerEvent({**event, "carried": self.carried})

    async def _event(self) -> dict[str, Any]:
        return {"status": _ENDED, "end": await self.end_of_work()}

    async def _end_with_its_task(self) -> None:
        if await self._was_ended_by_a_person():
            await self.on_kill()

    async def _was_ended_by_a_person(self) -> bool:
        """True if the task neither waits nor continues; a triggerer that ends, or loses the trigger, leaves it so."""
        from airflow.sdk.execution_time.task_runner import RuntimeTaskInstance

        ti: Any = self.task_instance
        asking = asyncio.ensure_future(
            sync_to_async(RuntimeTaskInstance.get_task_states)(
                dag_id=ti.dag_id, task_ids=[ti.task_id], run_ids=[ti.run_id], map_index=ti.map_index
            )
        )
        try:
            # A question that is cut off ends the triggerer of Airflow 3.1: its answer is taken for that of the next.
            states = await asyncio.wait_for(asyncio.shield(asking), _ASKING_SECONDS)
        except Exception as error:  # noqa: BLE001 - a triggerer that ends cannot ask
            self.log.warning("%s is left alone, since Airflow does not say why: %s", self.work, error)
            return False
        return all(each not in _UNENDED for each in states.get(ti.run_id, {}).values())


async def to_its_end(work: Coroutine[Any, Any, None]) -> None:
    """Do work to its end, however often that is cancelled: Airflow cancels a trigger each second until it has ended."""
    task = asyncio.create_task(work)
    while not task.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait([task])
    task.result()

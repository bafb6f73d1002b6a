"""How far Spark is with its stages, as lines of a log: for a scheduler that waits for a job elsewhere."""

import logging
import threading
from collections.abc import Callable, Iterable
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EVERY_SECONDS: Final = 10.0
_CONNECT: Final = "pyspark.sql.connect"
# A stage: its number, how many tasks have ended, and how many there are.
Stage = tuple[int, int, int]


class SparkProgress:
    """Logs the stages that are at work, every ten seconds at most, and only if something has changed."""

    def __init__(self, log: logging.Logger, every: float = _EVERY_SECONDS) -> None:
        self._log = log
        self._every = every
        self._ended = threading.Event()
        self._watched: SparkSession | None = None
        self._last: list[Stage] = []
        self._last_time = monotonic()
        self._stop: Callable[[], object] = lambda: None

    def watch(self, spark: "SparkSession") -> None:
        """Begin with a session; the first one is watched."""
        if self._watched is not None:
            return
        self._watched = spark
        if type(spark).__module__.startswith(_CONNECT):
            session: Any = spark
            session.registerProgressHandler(self._on_progress)
            self._stop = lambda: session.removeProgressHandler(self._on_progress)
            return
        thread = threading.Thread(target=self._poll, args=(spark,), name="pravega progress", daemon=True)
        thread.start()
        self._stop = lambda: thread.join(self._every)

    def end(self) -> None:
        """Say nothing more."""
        self._ended.set()
        self._stop()

    def report(self, stages: Iterable[Stage]) -> None:
        """Log stages, if they are not those that were logged last."""
        found = sorted(stages)
        if not found or found == self._last:
            return
        self._last, self._last_time = found, monotonic()
        self._log.info("; ".join(f"Stage {number}: {done} of {tasks} tasks" for number, done, tasks in found))

    def _poll(self, spark: "SparkSession") -> None:
        tracker = spark.sparkContext.statusTracker()
        while not self._ended.wait(self._every):
            try:
                infos = [tracker.getStageInfo(number) for number in tracker.getActiveStageIds()]
                self.report((info.stageId, info.numCompletedTasks, info.numTasks) for info in infos if info)
            except Exception:  # noqa: BLE001 - the job is not to fail because its progress is not known
                return

    def _on_progress(self, stages: Iterable[Any] | None, **rest: Any) -> None:
        """What Spark Connect calls, several times a second."""
        del rest
        if monotonic() - self._last_time >= self._every and not self._ended.is_set():
            self.report((each.stage_id, each.num_completed_tasks, each.num_tasks) for each in stages or ())

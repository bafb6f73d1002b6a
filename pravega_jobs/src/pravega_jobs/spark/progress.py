"""Progress of Spark's stages as lines of a log: tasks, rows, and rows per second, every ten seconds at most."""

import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Protocol

from pravega_jobs.spark.session import is_connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EVERY_SECONDS: Final = 10.0


class InfoLog(Protocol):
    """A logger, of Python or of a scheduler."""

    def info(self, event: str, /) -> object:
        """Add a line."""


@dataclass(frozen=True, slots=True, order=True)
class Stage:
    """A stage of Spark's: its number, how many of its tasks have ended, and the rows it has read; None: not known.

    Tasks report their rows when they end, and on the way with Spark's heartbeats.
    """

    number: int
    done: int
    tasks: int
    rows: int | None = None


class SparkProgress:
    """Logger of the stages that are at work: every ten seconds at most, and only after a change.

    Args:
        log: the log of the lines.
        every: seconds between two lines.
    """

    def __init__(self, log: InfoLog, every: float = _EVERY_SECONDS) -> None:
        self._log = log
        self._every = every
        self._ended = threading.Event()
        self._watched: SparkSession | None = None
        self._last: dict[int, Stage] = {}
        self._last_time = monotonic()
        self._stop: Callable[[], object] = lambda: None

    def watch(self, spark: "SparkSession") -> None:
        """Watch a session; calls after the first do nothing."""
        if self._watched is not None:
            return
        self._watched = spark
        if is_connect(spark):
            session: Any = spark
            session.registerProgressHandler(self._on_progress)
            self._stop = lambda: session.removeProgressHandler(self._on_progress)
            return
        thread = threading.Thread(target=self._poll, args=(spark,), name="pravega progress", daemon=True)
        thread.start()
        self._stop = lambda: thread.join(self._every)

    def end(self) -> None:
        """Log nothing more."""
        self._ended.set()
        self._stop()

    def report(self, stages: Iterable[Stage]) -> None:
        """Log stages, unless they were logged last."""
        found = {stage.number: stage for stage in sorted(stages)}
        if not found or found == self._last:
            return
        now = monotonic()
        line = "; ".join(self._shown(stage, now - self._last_time) for stage in found.values())
        self._last, self._last_time = found, now
        self._log.info(line)

    def take(self, stages: Iterable[Stage]) -> None:
        """Log stages that come several times a second, if it is time for a line."""
        if monotonic() - self._last_time >= self._every and not self._ended.is_set():
            self.report(stages)

    def _shown(self, stage: Stage, seconds: float) -> str:
        line = f"Stage {stage.number}: {stage.done} of {stage.tasks} tasks"
        if not stage.rows:
            return line
        before = self._last.get(stage.number)
        more = stage.rows - ((before and before.rows) or 0)
        rate = f", {more / seconds:,.0f} rows/s" if seconds > 0 else ""
        return f"{line}, {stage.rows:,} rows{rate}"

    def _poll(self, spark: "SparkSession") -> None:
        while not self._ended.wait(self._every):
            try:
                self.report(_active(spark))
            except Exception:  # noqa: BLE001 - the job is not to fail because its progress is not known
                return

    def _on_progress(self, stages: Iterable[Any] | None, **rest: Any) -> None:
        """Handle a report of Spark Connect."""
        del rest
        self.take(Stage(each.stage_id, each.num_completed_tasks, each.num_tasks) for each in stages or ())


def _active(spark: "SparkSession") -> Iterator[Stage]:
    """The stages of this process's JVM that are at work."""
    context: Any = spark.sparkContext
    tracker = context.statusTracker()
    store = context._jsc.sc().statusStore()  # noqa: SLF001 - Spark hands rows to Python by no other way
    for number in tracker.getActiveStageIds():
        info = tracker.getStageInfo(number)
        if info is not None:
            rows = store.lastStageAttempt(number).inputRecords()
            yield Stage(info.stageId, info.numCompletedTasks, info.numTasks, int(rows))

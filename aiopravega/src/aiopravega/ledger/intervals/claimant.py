"""Claimants of intervals, and the parts of a claim: the run that processes an interval, and the sinks it writes into.

A take-over needs both. The host of the claimant knows its state. The sinks know whether the claimant has written before
it ended: a claim names each sink before the first request of its write.
"""

from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class Claimant(BaseModel):
    """The task of a run that processes an interval, as its host names it; the same for all tries of the task.

    Args:
        host: `airflow`, `dagster`, or another program.
        instance: tells several hosts of one kind apart: only the own one knows the state of a run.
        job: the DAG, or the job.
        run: the id of the run. If a run repeats another one, as re-executions in Dagster do, the id of the first run.
        task: the task, or the step.
        index: of a mapped task.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    host: str = Field(min_length=1)
    instance: str = ""
    job: str = ""
    run: str = Field(min_length=1)
    task: str = ""
    index: int | None = None

    def __str__(self) -> str:
        name = "/".join(part for part in (self.job, self.task) if part)
        index = "" if self.index is None else f"[{self.index}]"
        return f"{self.host} run {self.run!r}" + (f" of {name}{index}" if name else index)


class ClaimantState(StrEnum):
    """The state of a claimant, as its host says.

    RUNNING: it runs, is queued, or is to be tried again. DONE: it has succeeded, or a person has marked it so. FAILED:
    it has failed and is not tried again, or a person has ended it. GONE: its host does not have it any more, or never
    had it. UNKNOWN: the host cannot be asked.
    """

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    GONE = "gone"
    UNKNOWN = "unknown"

    @property
    def is_over(self) -> bool:
        """True if the claimant has ended without success."""
        return self in (ClaimantState.FAILED, ClaimantState.GONE)


class Sink(BaseModel):
    """The target of a claim's write, and the name under which it is written once.

    Args:
        kind: `write` for events in a stream; `landing` or `merge` for rows in a table.
        target: the stream as `scope/stream`, or the identity of the table. It never has a secret.
        id: the write id, or the interval that the table holds.
        generation: of the write or the landing.
        ledger: `scope/table` of the commit ledger of a write; None: the default one of the stream's scope.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["write", "landing", "merge"]
    target: str = Field(min_length=1)
    id: str = Field(min_length=1)
    generation: int = Field(default=1, ge=1)
    ledger: str | None = None

    def __str__(self) -> str:
        return f"{self.kind} {self.id!r} into {self.target}"


class Part(BaseModel):
    """A part of a claim that has to be done: an output of a step, or a task that reads the range.

    `sink` is None as long as the part has not begun to write, or if it writes to a sink that cannot be asked.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(min_length=1)
    sink: Sink | None = None
    done: bool = False

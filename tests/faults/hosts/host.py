"""A scheduler as the rounds see it: it starts a run, repeats one, and learns that one has died."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path

from tests.faults.hosts.flows import Flow
from tests.faults.steps import Steps

# A run that needs longer waits for something. On a busy machine a run of Spark needs half a minute.
LIMIT_SECONDS = 150.0


@dataclass(frozen=True)
class Ended:
    """The end of a run; its id is empty if it died before it had one.

    `late`: it did not end within the limit, and was ended. `error` is the name of the error with which it failed.
    `said` is all that it has logged.
    """

    run: str
    ok: bool
    killed: bool
    late: bool
    error: str
    said: str


class Host(ABC):
    """A host of runs, whose processes count their steps in `folder`."""

    name: str

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.steps = Steps(folder)

    @abstractmethod
    def run(self, flow: Flow, again: str = "") -> Ended:
        """Make a run and wait until it has ended; `again` is the run that it repeats."""

    @abstractmethod
    def learn(self) -> None:
        """Let the host learn at once which runs have died, as it does by itself after a while."""

"""A scheduler as the rounds see it: it starts a run, repeats one, and learns that one has died."""

from abc import ABC, abstractmethod
from pathlib import Path

from tests.faults.hosts.flows import Flow
from tests.faults.hosts.found import Ended
from tests.faults.steps import Steps

# A run that needs longer waits for something. On a busy machine a run of Spark needs a minute.
LIMIT_SECONDS = 300.0


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

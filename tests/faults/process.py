"""A job as a process of its own, with all that it starts, and what can be done to these processes."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
INJECT = Path(__file__).with_name("inject")
JOB_SECONDS = 600.0
_POLL_SECONDS = 0.02


def wait_until(
    done: Callable[[], object], what: Callable[[], str], seconds: float = JOB_SECONDS, every: float = _POLL_SECONDS
) -> None:
    """Poll until something holds; else fail, and say what was waited for."""
    deadline = time.monotonic() + seconds
    while not done():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds:g} s: {what()}")
        time.sleep(every)


def session(leader: int) -> Iterator[int]:
    """All processes of a session, wherever they moved to."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                if os.getsid(int(entry.name)) == leader:
                    yield int(entry.name)
            except ProcessLookupError:
                pass  # it ended meanwhile


@dataclass
class ProcessTree:
    """A process in a session of its own, so that all that it starts can be found; what it says goes to a file."""

    process: subprocess.Popen[bytes]
    log: Path

    def pids(self) -> Iterator[int]:
        """All its processes, for a job driver, JVMs, Python workers."""
        return session(self.process.pid)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to all its processes."""
        for pid in self.pids():
            send_signal(pid, number)

    def kill(self) -> None:
        """Kill it as a whole. What starts while the others die is found by a second search."""
        # All of them at each search: one that is dead already takes the signal until its parent, too, is dead.
        while sum(send_signal(pid, signal.SIGKILL) for pid in self.pids()):
            time.sleep(_POLL_SECONDS)
            if self.process.poll() is not None and not any(_is_alive(pid) for pid in self.pids()):
                break
        self.process.wait(JOB_SECONDS)

    def said(self) -> str:
        """The end of its log."""
        return self.log.read_text(errors="replace")[-6000:]


@dataclass
class Job(ProcessTree):
    """A running job."""

    results: Path

    @classmethod
    def start(cls, folder: Path, description: dict[str, Any], plan: Path | None) -> "Job":
        """Start a job in a folder of its own."""
        folder.mkdir()
        file, log = folder / "job.json", folder / "log.txt"
        file.write_text(json.dumps({"results": str(folder), **description}))
        path = [str(INJECT), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(path), "PYSPARK_PYTHON": sys.executable}
        if plan is not None:
            environment["FAULT_PLAN"] = str(plan)
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.faults.job", str(file)],
                start_new_session=True,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=folder,
                env=environment,
            )
        return cls(process, log, folder)

    def result(self, stream: str) -> dict[str, Any] | None:
        """The end of a write; None if it has not ended."""
        path = self.results / f"{stream}.json"
        return json.loads(path.read_text()) if path.exists() else None

    def end(self) -> None:
        """Wait until it ends by itself."""
        try:
            self.process.wait(JOB_SECONDS)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the job does not end:\n{self.said()}") from None


def executors_of(pids: Iterable[int]) -> set[int]:
    """The executors, of a cluster on this machine, whose workers these processes are."""
    return {pid for worker in pids if (pid := _ancestor(worker)) is not None}


def _ancestor(pid: int) -> int | None:
    while pid > 1:
        if b"CoarseGrainedExecutorBackend" in Path(f"/proc/{pid}/cmdline").read_bytes():
            return pid
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return None


def send_signal(pid: int, number: signal.Signals) -> bool:
    """Send a signal to a process; false if it has ended."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False

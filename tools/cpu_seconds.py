"""Run a command and say how many seconds of CPU it took, with all that it started, wherever that went.

python tools/cpu_seconds.py [--steps REGEX] -- COMMAND …

This process adopts what its descendants leave behind (servers of their own session among them). Processes whose parents
do not wait for them, such as Spark's Python workers, count if they were seen: they are read twice a second.
With `--steps`, every line of the output that matches gets the seconds since the last such line.
"""

import argparse
import contextlib
import ctypes
import os
import re
import subprocess
import sys
import threading
import time

import psutil

PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h
ROOT_VARIABLE = "CPU_SECONDS_ROOT"  # the process whose tree is measured, for a plugin inside of it
_SAMPLE_SECONDS = 0.5


class Meter:
    """Seconds of CPU of a process and of all that was ever seen below it, for as long as this object lives.

    What the meter itself takes is not counted; meters of other processes are.
    """

    def __init__(self, root: int) -> None:
        self._root = psutil.Process(root)
        own = psutil.Process()
        self._is_within = self._root in (own, *own.parents())
        self._known: dict[tuple[int, float], psutil.Process] = {}
        self._spent: dict[tuple[int, float], float] = {}
        self._own = 0.0
        self._lock = threading.Lock()
        threading.Thread(target=self._sample, daemon=True).start()

    def seconds(self) -> float:
        """Seconds until now."""
        with self._lock:
            self._look()
            return sum(self._spent.values()) - self._own

    def _sample(self) -> None:
        with contextlib.suppress(psutil.NoSuchProcess):  # the process has ended
            while True:
                with self._lock:
                    self._look()
                time.sleep(_SAMPLE_SECONDS)

    def _look(self) -> None:
        start = time.thread_time()
        for process in (self._root, *self._root.children(recursive=True)):
            with contextlib.suppress(psutil.NoSuchProcess):
                self._known[process.pid, process.create_time()] = process
        for key, process in list(self._known.items()):
            try:
                times = process.cpu_times()
                self._spent[key] = max(times.user + times.system, self._spent.get(key, 0.0))
            except psutil.NoSuchProcess:
                del self._known[key]
        if self._is_within:
            self._own += time.thread_time() - start


def _reap(child: int) -> int:
    """Wait for the command, and for every orphan that is handed to this process meanwhile; returns the exit status."""
    while True:
        pid, status = os.wait()
        if pid == child:
            return os.waitstatus_to_exitcode(status)


def _forward(pipe: int, steps: re.Pattern[str], meter: Meter) -> None:
    last, start = meter.seconds(), time.monotonic()
    with os.fdopen(pipe, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            sys.stdout.write(line)
            if steps.search(line):
                now, clock = meter.seconds(), time.monotonic()
                print(f"      [{now - last:.1f} s of CPU, {clock - start:.1f} s]")
                last, start = now, clock
            sys.stdout.flush()


def main() -> int:
    """Run the command; returns its exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=re.compile, metavar="REGEX")
    parser.add_argument("command", nargs="+")
    arguments = parser.parse_args()
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "this process may not adopt orphans")
    meter = Meter(os.getpid())
    environment = os.environ | {ROOT_VARIABLE: str(os.getpid())}
    start = time.monotonic()
    if arguments.steps:
        source, sink = os.pipe()
        reader = threading.Thread(target=_forward, args=(source, arguments.steps, meter))
        reader.start()
    child = subprocess.Popen(arguments.command, env=environment, stdout=sink if arguments.steps else None)
    if arguments.steps:
        os.close(sink)
    status = _reap(child.pid)
    if arguments.steps:
        reader.join()
    print(f"{meter.seconds():.1f} s of CPU, {time.monotonic() - start:.1f} s in all")
    return status


if __name__ == "__main__":
    sys.exit(main())

"""The number of tasks that Spark can run at a time, if the process that plans a read can know it.

Spark gives a Python data source neither its settings nor its cores, and the process that plans has no SparkContext. But
this process is a child of the driver's JVM: where the system has /proc, the JVM's command line has the settings with
which it was started.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

# If the number is not known: probably for a cluster, where more tasks than cores cost less than idle cores.
UNKNOWN: Final = 16
# Options of `spark-submit` that stand for settings.
_SETTINGS: Final = {
    "--master": "spark.master",
    "--executor-cores": "spark.executor.cores",
    "--num-executors": "spark.executor.instances",
    "--total-executor-cores": "spark.cores.max",
}
_LOCAL: Final = re.compile(r"local(?:\[(?P<cores>\d+|\*)(?:,\d+)?])?")
_LOCAL_CLUSTER: Final = re.compile(r"local-cluster\[\s*(?P<executors>\d+)\s*,\s*(?P<cores>\d+)\s*,\s*\d+\s*]")
_LONGEST_LINEAGE: Final = 8


def tasks_at_a_time(proc: Path = Path("/proc")) -> int:
    """The number of cores of Spark, by the driver that is a parent of this process, or `UNKNOWN`."""
    for arguments in _command_lines(proc, os.getpid()):
        if any(argument.startswith("org.apache.spark.") for argument in arguments):
            return cores(settings(arguments))
    return UNKNOWN


def settings(arguments: Sequence[str]) -> dict[str, str]:
    """Spark's settings on the command line of a JVM."""
    given: dict[str, str] = {}
    for argument, following in pairwise([*arguments, ""]):
        if argument.startswith("-Dspark."):
            name, _, value = argument.removeprefix("-D").partition("=")
        elif argument in ("--conf", "-c"):
            name, _, value = following.partition("=")
        elif argument in _SETTINGS:
            name, value = _SETTINGS[argument], following
        else:
            continue
        given[name] = value
    return given


def cores(given: Mapping[str, str]) -> int:
    """The number of tasks that these settings let run at a time, or `UNKNOWN`."""
    if (parallelism := _number(given, "spark.default.parallelism")) is not None:
        return parallelism
    master = given.get("spark.master", "")
    if local := _LOCAL.fullmatch(master):
        return (os.cpu_count() or 1) if local["cores"] == "*" else int(local["cores"] or 1)
    if cluster := _LOCAL_CLUSTER.fullmatch(master):
        return int(cluster["executors"]) * int(cluster["cores"])
    if (most := _number(given, "spark.cores.max")) is not None:
        return most
    executors = _number(given, "spark.dynamicAllocation.maxExecutors") or _number(given, "spark.executor.instances")
    if executors is None:
        return UNKNOWN
    return executors * (_number(given, "spark.executor.cores") or 1)


def _number(given: Mapping[str, str], name: str) -> int | None:
    text = given.get(name, "")
    return int(text) if text.isdecimal() and int(text) else None


def _command_lines(proc: Path, process: int) -> Iterator[Sequence[str]]:
    """The command lines of a process, its parent, and so on."""
    for _ in range(_LONGEST_LINEAGE):
        try:
            yield (proc / str(process) / "cmdline").read_text(errors="replace").split("\0")
            # The name, in brackets, may contain anything; after it come the state and the parent.
            process = int((proc / str(process) / "stat").read_text(errors="replace").rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            return

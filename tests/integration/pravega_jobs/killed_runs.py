"""Works in a process that is killed at a step: a program that reads what to do, a line for each work."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

KilledRun: TypeAlias = Callable[..., bool]


@contextmanager
def killed_runs(module: str, kind: str) -> Iterator[KilledRun]:
    """A function that has a work done on a lake, killed at a step; it gives False if the work came to its end.

    It takes the lake, the name of the work, the step, and what else the program asks for.

    Args:
        module: the program, which gets the kind of the lake.
        kind: the kind of the lake.
    """
    command = [sys.executable, "-m", module, kind]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:

        def killed(lake: Any, work: str, step: int, *more: str) -> bool:
            assert program.stdin is not None
            assert program.stdout is not None
            print(json.dumps([lake.where, work, step, *more]), file=program.stdin, flush=True)
            answer = program.stdout.readline().strip()
            assert answer in {"True", "False"}
            return answer == "True"

        yield killed
        program.terminate()

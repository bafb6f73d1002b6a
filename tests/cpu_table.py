"""Seconds of CPU for each file of tests, with its JVMs and Python workers: `make cpu-tests`.

A plugin for pytest under `tools/cpu_seconds.py`. What the fixtures of a session take is in lines of its own: the
first test that asks for a Spark is not the one that costs it. With pytest-xdist every worker counts its own tree of
processes, and the servers that all workers share, with collection, are what is left of the whole.
"""

import os
import time
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from tools.cpu_seconds import ROOT_VARIABLE, Meter

TABLE = Path("build") / "cpu-tests.txt"
SHOWN = 40
_meter = Meter(os.getpid() if "PYTEST_XDIST_WORKER" in os.environ else int(os.environ[ROOT_VARIABLE]))
# For each file and fixture: seconds of CPU, seconds, tests.
_rows: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0])
_fixtures = [0.0, 0.0]  # seconds of the session's fixtures that the test under way has set up


def _count(name: str, cpu: float, wall: float, tests: int = 0) -> None:
    row = _rows[name]
    row[0] += cpu
    row[1] += wall
    row[2] += tests


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Count a test, without what it set up for the whole session."""
    _fixtures[:] = 0.0, 0.0
    cpu, wall = _meter.seconds(), time.monotonic()
    result = yield
    _count(item.location[0], _meter.seconds() - cpu - _fixtures[0], time.monotonic() - wall - _fixtures[1], tests=1)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[object]) -> Generator[None, object, object]:
    """Count a fixture of the session; those that it asks for have been set up before."""
    if fixturedef.scope != "session":
        return (yield)
    cpu, wall = _meter.seconds(), time.monotonic()
    result = yield
    cpu, wall = _meter.seconds() - cpu, time.monotonic() - wall
    _count(f"fixture {fixturedef.argname}", cpu, wall)
    _fixtures[0] += cpu
    _fixtures[1] += wall
    return result


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hand a worker's rows to the process that controls it."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["cpu_rows"] = dict(_rows)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Add a worker's rows to those of the others."""
    for name, (cpu, wall, tests) in getattr(node, "workeroutput", {}).get("cpu_rows", {}).items():
        _count(name, cpu, wall, tests)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Write the table, the most expensive first."""
    whole = _meter.seconds()
    _count("(imports, collection, shared servers)", whole - sum(row[0] for row in _rows.values()), 0.0)
    rows = [f"{'CPU s':>8} {'s':>8} {'tests':>6}  file"]
    for name, (cpu, wall, tests) in sorted(_rows.items(), key=lambda row: -row[1][0]):
        rows.append(f"{cpu:8.1f} {wall:8.1f} {int(tests) or '':>6}  {name}")
    rows.append(f"{whole:8.1f} {'':>8} {sum(int(row[2]) for row in _rows.values()):>6}  all")
    TABLE.parent.mkdir(exist_ok=True)
    TABLE.write_text("\n".join(rows) + "\n")
    terminalreporter.section(f"seconds of CPU (all files: {TABLE})")
    terminalreporter.write_line("\n".join([*rows[:SHOWN], rows[-1]]))

"""A walk: a reader who does what a page says, and nothing else, in an environment with nothing but its packages.

The commands, the files and the Python come from the page itself, so that a walk cannot drift from it. Each step is
timed; what fails, or does not end, is a stumble.
"""

import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import httpx
from tests.pages.steps import OWN, Step, steps_of
from tests.walks.browser import AirflowPages, Browser, DagsterPages
from tests.walks.terminal import StepTimeoutError, Terminal

EMULATOR: Final = "the emulator"
SECURED: Final = "a cluster with TLS and accounts"
STEP_SECONDS: Final = 1200.0  # on a machine that does other work; a run that waits for another one waits for hours
# A page stops what it starts by a command within a sentence.
_DOWN: Final = ".venv/bin/pravega-emulator down"
_PYTHON: Final = re.compile(r"^\S*python3?$")
# Commands that run until somebody stops them, and what the page says to do meanwhile.
_RUN_ON: Final[Mapping[str, Callable[[Path], Browser]]] = {
    "airflow standalone": AirflowPages,
    "dagster dev": DagsterPages,
}
_INSTALLS: Final = ("make wheels", "-m venv", "pip install")


@dataclass
class Report:
    """How a walk went.

    Attributes:
        name: its page or pages.
        cluster: the Pravega on which it went.
        steps: the seconds of each step, in order, with the first line of its text.
        stumbles: each step that failed or did not end, with the last line that was said.
    """

    name: str
    cluster: str
    steps: list[tuple[str, float]] = field(default_factory=list)
    stumbles: list[tuple[str, str]] = field(default_factory=list)


class Reader:
    """Does steps in a terminal, and keeps a report. After a stumble the rest is left undone."""

    def __init__(self, terminal: Terminal, report: Report) -> None:
        self._terminal = terminal
        self.report = report
        self._in_python = False
        self._running: tuple[int, Browser] | None = None

    def follow(self, steps: Iterable[Step], placeholders: Mapping[str, str] | None = None) -> None:
        """Do steps in their order; `placeholders` are what stands on the page for values of the reader's own."""
        for step in steps:
            if self.report.stumbles:
                break
            text = step.text
            for example, value in (placeholders or {}).items():
                text = text.replace(example, value)
            if step.file:
                self._save(step, text)
            elif step.python:
                self._type_python(step, text)
            else:
                self._run(step, text)

    def finish(self) -> None:
        """Leave Python, and stop what runs on; what a stumble has left running is stopped by the terminal."""
        self._leave_python()
        if self._running is not None:
            group, browser = self._running
            if not self.report.stumbles:
                self._time("in the browser, after the last command", lambda: _done(browser.last))
            self._time("Ctrl-C", lambda: self._terminal.interrupt(group, STEP_SECONDS))
            self._running = None

    def run(self, command: str) -> None:
        """Run a command that is in a sentence of the page."""
        self._run(Step(command, None, python=False, section=""), command)

    def _run(self, step: Step, text: str) -> None:
        self._leave_python()
        if _PYTHON.match(text):
            self._terminal.open_python(text)
            self._in_python = True
            return
        browser = next((pages for words, pages in _RUN_ON.items() if words in text), None)
        if browser is None:
            self._time(_label(step), lambda: self._terminal.run(text, STEP_SECONDS))
        else:
            pages = browser(self._terminal.log)
            self._running = self._terminal.start(text), pages
            self._time(f"{_label(step)}, and in the browser", lambda: _done(pages.first))

    def _type_python(self, step: Step, text: str) -> None:
        if not self._in_python:
            self._terminal.open_python("python")
            self._in_python = True
        self._time(f"in Python: {_label(step)}", lambda: self._terminal.paste(text, STEP_SECONDS))

    def _leave_python(self) -> None:
        if self._in_python:
            self._in_python = False
            self._time("leave Python", lambda: self._terminal.leave_python(STEP_SECONDS))

    def _save(self, step: Step, text: str) -> None:
        self._leave_python()
        command = f"mkdir -p {step.file and step.file.parent} && cat > {step.file} <<'END OF FILE'\n{text}END OF FILE"
        self._time(f"save {step.file}", lambda: self._terminal.run(command, STEP_SECONDS))

    def _time(self, label: str, action: Callable[[], int | None]) -> None:
        started = time.monotonic()
        try:
            status = action() or 0
            why = f"status {status}: {_last_line(self._terminal.said())}"
        except (StepTimeoutError, AssertionError, httpx.HTTPError) as error:
            status, why = 1, str(error) or repr(error)
        self.report.steps.append((label, round(time.monotonic() - started, 1)))
        print(f"  {self.report.steps[-1][1]:7.1f} s  {label}", flush=True)
        if status:
            self.report.stumbles.append((label, why))
            print(f"  stumbled: {why}", flush=True)


def tutorial(page: Path, terminal: Terminal, report: Report, own: Mapping[str, str] | None) -> None:
    """Walk a tutorial.

    With `own`, its environment is there already, and its last section is done instead of the lines with the emulator;
    what runs until somebody stops it is left out then.
    """
    steps = steps_of(page.read_text(encoding="utf-8"))
    main = [step for step in steps if step.section != OWN]
    reader = Reader(terminal, report)
    if own is None:
        reader.follow(main)
        reader.finish()
        # A reader who has stumbled stops the server, too.
        terminal.run(_DOWN, STEP_SECONDS)
        return
    instead = [step for step in steps if step.section == OWN and not step.python]
    for step in main:
        if "pravega-emulator up" in step.text:
            reader.follow(instead, own)
        elif not _is_left_out(step.text):
            reader.follow([step])
    reader.finish()


def _is_left_out(text: str) -> bool:
    words = (*_INSTALLS, *_RUN_ON, "pravega-emulator", "export AIRFLOW_CONN")
    return any(each in text for each in words)


def _label(step: Step) -> str:
    lines = [line for line in step.text.splitlines() if line.strip()]
    return lines[0] if len(lines) == 1 else f"{lines[0]} …"


def _last_line(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip(" >.")]
    return lines[-1] if lines else "nothing was said"


def _done(action: Callable[[], None]) -> int:
    action()
    return 0

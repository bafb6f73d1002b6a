"""The tutorials do what they say, twice, and continue after their reader's code was broken and mended.

What is installed is left out, and what runs until somebody stops it: the server, which is that of the tests, and the
pages of Airflow and Dagster, whose real processes `tests/system/airflow` and `tests/system/dagster` run. A walk leaves
out nothing: `tests/walks`.
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tests.pages.steps import OWN, steps_of
from tests.system.s3_server import BUCKET, S3Server
from tests.system.servers import free_ports

from pravega_emulator.server import PravegaServer

FOLDER = Path(__file__).parents[2] / "docs" / "tutorials"
LIMIT = 800  # seconds, on a machine five times slower; a run that waits for an earlier one waits for hours
# The environment is that of the tests.
LEFT_OUT = (
    "make wheels",
    "&& cd build/",
    "-m venv",
    "pip install",
    "pravega-emulator",
    "airflow standalone",
    "moto_server",
    "kill $!",
    "dagster dev",
)
INTERPRETER = ".venv/bin/python"
# Tutorials whose code is a session in Python, each with a line of the reader's own code, before which it is broken.
SESSIONS = {
    "first-range": "events = [event.data for event in client.read(day_two)]",
    "first-spark-job": "write_sums()  # as a scheduler does",
    "first-asset": "return readings.done(",
}
# In one process, so that Spark's JVM starts once; what a session imports from its folder is imported again.
RUN_SESSIONS = """
import runpy, shutil, sys
from pathlib import Path
line = sys.argv[1]
names = [file.stem for file in Path().glob("*.py")]
shutil.copytree(".", "broken", ignore=lambda _, found: [each for each in found if not each.endswith(".py")])
for file in Path("broken").iterdir():
    file.write_text(file.read_text().replace(line, f"raise RuntimeError('broken'); {line}"))
for folder in (".", ".", "broken", "."):
    for name in names:
        sys.modules.pop(name, None)
    sys.path[0] = folder
    try:
        runpy.run_path(f"{folder}/session.py")
    except RuntimeError as error:
        if folder != "broken":
            raise
    else:
        print("a whole session has run")
"""


def page(name: str) -> str:
    """The text of a tutorial."""
    return (FOLDER / f"{name}.md").read_text(encoding="utf-8")


def commands(text: str) -> str:
    """A script for bash: what a reader types, and saves, one after the other; what is typed into Python is one file."""
    steps = [step for step in steps_of(text) if step.section != OWN]
    typed = [step for step in steps if step.python]
    lines = ["set -euo pipefail"]
    for step in steps:
        if step.file:
            lines.append(f"mkdir -p {step.file.parent}; cat > {step.file} <<'END'\n{step.text}END")
        elif typed and step is typed[-1]:
            session = "\n".join(each.text for each in typed)
            lines.append(f"cat > session.py <<'END'\n{session}END\n{INTERPRETER} session.py")
        elif not step.python and step.text != INTERPRETER and not any(word in step.text for word in LEFT_OUT):
            lines.append(step.text)
    return "\n".join(lines)


def environment(server: PravegaServer) -> dict[str, str]:
    """The caller's environment, with the tests' server and without what it says about hosts."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AIRFLOW", "DAGSTER"))}
    return {**kept, "PRAVEGA_CONTROLLER_URI": server.config.controller_uri}


def run(script: str, folder: Path, variables: dict[str, str]) -> str:
    """Run a script of bash to its good end; returns what it said."""
    (folder / ".venv").symlink_to(sys.prefix)
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 0, f"{shlex.join(done.args[:2])}: {done.stdout}"
    return done.stdout


@pytest.mark.timeout(LIMIT + 100)
@pytest.mark.parametrize("tutorial", SESSIONS)
def test_a_tutorial_runs_twice_and_goes_on_after_it_was_broken(
    tutorial: str, pravega_emulator: PravegaServer, tmp_path: Path
) -> None:
    typed = f"\n{INTERPRETER} session.py"
    script, line = commands(page(tutorial)), SESSIONS[tutorial]
    assert script.count(line) == 1
    assert script.endswith(typed)

    four = f"\n{INTERPRETER} - {shlex.quote(line)} <<'END'\n{RUN_SESSIONS}END"
    said = run(script.removesuffix(typed) + four, tmp_path, environment(pravega_emulator))

    assert said.count("a whole session has run") == 3


@pytest.mark.slow  # it makes Airflow's database, and starts Airflow again for each run
@pytest.mark.timeout(LIMIT + 100)
def test_the_first_dag_runs_twice_and_goes_on_after_it_was_broken(
    pravega_emulator: PravegaServer, tmp_path: Path
) -> None:
    text, line = page("first-dag"), "sum(1 for visit in"
    assert text.count(line) == 1
    steps = [
        commands(text),  # it counts twice, and writes two hundred more for the scheduler
        f"sed -i 's/{line}/1 \\/ 0 + {line}/' dags/visits.py",
        ".venv/bin/airflow dags test visits || true",
        "sed -i 's/1 \\/ 0 + //' dags/visits.py",
        f"{INTERPRETER} write_visits.py",
        ".venv/bin/airflow dags test visits",
    ]

    said = run("\n".join(steps), tmp_path, environment(pravega_emulator))

    assert "ZeroDivisionError" in said
    # The run after the one that failed takes its two hundred, and the hundred that is new.
    assert [int(each) for each in re.findall(r"(\d+) visits\b", said)] == [100, 100, 300]


@pytest.mark.slow  # thirty programs, one after the other, and a year of flights twice
@pytest.mark.timeout(LIMIT + 100)
def test_the_table_on_s3_is_made_twice_and_goes_on_after_it_was_broken(
    pravega_emulator: PravegaServer, tmp_path: Path
) -> None:
    text, line = page("table-on-s3"), "landed = land(rows,"
    assert text.count(line) == 1
    with S3Server(free_ports(1)[0], tmp_path / "s3.log") as s3:
        steps = [
            commands(text).replace("http://127.0.0.1:5555", s3.url),
            f"sed -i 's/{line}/1 \\/ 0; {line}/' land_orders.py",
            f"{INTERPRETER} write_orders.py",
            f"{INTERPRETER} land_orders.py wednesday || true",
            "sed -i 's/1 \\/ 0; //' land_orders.py",
            f"{INTERPRETER} write_orders.py",
            f"{INTERPRETER} land_orders.py wednesday",
            f"{INTERPRETER} land_orders.py thursday",
            commands(text).replace("http://127.0.0.1:5555", s3.url),
        ]
        said = run("\n".join(steps), tmp_path, environment(pravega_emulator))

    assert "ZeroDivisionError" in said
    landed = re.findall(r"^(\w+day) (\w+) (\d+)$", said, re.MULTILINE)
    once = [(day, "append", "1000") for day in ("monday", "tuesday", "wednesday", "thursday")]
    assert [each for each in landed if each[1] == "append"] == once
    assert {each[1] for each in landed} == {"append", "nothing"}
    assert re.findall(r"^2013-\d\d (\w+) ", said, re.MULTILINE) == ["append"] * 12 + ["nothing"] * 12
    assert said.count(" 336776") == 2
    assert BUCKET == "lake"  # as on the page

"""Walk the pages as a newcomer does, in empty environments from wheels: `make walks`.

python -m tests.walks [airflow dagster spark platform] [--store]

Each walk clones the commit that is checked out, does what the pages say, and leaves its report in build/walks. A walk
takes ten to twenty minutes, and uses the ports 8080 and 3000, as the pages do.
"""

import argparse
import datetime as dt
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tests.pages.steps import steps_of
from tests.walks import report as reports
from tests.walks.cluster import PLATFORM, cluster_of, platform
from tests.walks.report import FOLDER, ROOT
from tests.walks.terminal import Terminal
from tests.walks.walk import EMULATOR, SECURED, Reader, Report, tutorial

from pravega_emulator.jars import CACHE_VARIABLE, cache_folder

TUTORIALS: Final = {"airflow": "first-dag", "dagster": "first-asset", "spark": "first-spark-job"}
# The platform walk: pages of docs/how-to with the sections that are walked.
INSTALL: Final = ("install", ("The packages",))
REACH: Final = ("reach-a-secured-cluster", ("",))
KEEP: Final = (
    ("cut-ledger", ("Show and verify",)),
    ("my-dag-waits", ("Where it is shown", "The server is away")),
    ("operate", ("Back up the ledgers",)),
)


def terminal(folder: Path, name: str) -> Terminal:
    """A terminal in a fresh clone; the folder keeps its log."""
    home = folder / name
    home.mkdir()
    cache = folder / "servers"
    if not cache.exists():
        # The jars of this machine, and names of servers of the walk's own.
        cache.mkdir()
        for jars in [*cache_folder().glob("jars-*"), cache_folder() / "ports"]:
            (cache / jars.name).symlink_to(jars)
    python = Path(os.path.realpath(sys.executable)).parent
    caches = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    made = Terminal(
        home,
        folder / f"{name}.log",
        f"{python}:/usr/bin:/bin",
        {CACHE_VARIABLE: str(cache), "XDG_CACHE_HOME": caches},
    )
    made.run(f"cd {folder / 'clone'}", 60)
    return made


def walk_tutorial(walk: str, folder: Path) -> list[Report]:
    """Walk a tutorial with the emulator, then with a cluster that has TLS and accounts."""
    name = TUTORIALS[walk]
    page = folder / "clone" / "docs" / "tutorials" / f"{name}.md"
    first, second = Report(name, EMULATOR), Report(name, SECURED)
    print(f"{name}, on {EMULATOR}", flush=True)
    with terminal(folder, "plain") as reader:
        tutorial(page, reader, first, None)
    print(f"{name}, on {SECURED}", flush=True)
    with cluster_of(name) as values, terminal(folder, "secured") as reader:
        tutorial(page, reader, second, values)
    return [first, second]


def walk_platform(folder: Path) -> list[Report]:
    """Walk the pages of those who run a cluster for others."""
    report = Report(PLATFORM, SECURED)
    print(f"{PLATFORM}, on {SECURED}", flush=True)
    with platform() as (analytics, keeper), terminal(folder, "secured") as opened:
        reader = Reader(opened, report)
        follow(reader, folder, INSTALL, {})
        follow(reader, folder, REACH, analytics)
        # The second account's name and password replace the first one's.
        follow(reader, folder, REACH, keeper)
        for page in KEEP:
            follow(reader, folder, page, keeper)
        reader.finish()
    return [report]


def follow(reader: Reader, folder: Path, page: tuple[str, tuple[str, ...]], values: Mapping[str, str]) -> None:
    """Follow some sections of a how-to page; what leaves words out is a pattern, and no step."""
    name, sections = page
    text = (folder / "clone" / "docs" / "how-to" / f"{name}.md").read_text(encoding="utf-8")
    steps = [step for step in steps_of(text) if step.section in sections]
    reader.follow(steps, values)


def main() -> int:
    """Walk, print the reports, and store the page if it is asked for; the exit status is 1 if a walk has stumbled."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("walk", nargs="*", help=f"of {', '.join([*TUTORIALS, PLATFORM])}; by default all")
    parser.add_argument("--store", action="store_true", help="write docs/evidence/walks.md from all reports in build")
    options = parser.parse_args()
    known = [*TUTORIALS, PLATFORM]
    if unknown := set(options.walk) - set(known):
        parser.error(f"no such walk: {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    stumbled = False
    for walk in options.walk or known:
        folder = FOLDER / walk
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        subprocess.run(["git", "clone", "--quiet", ROOT, folder / "clone"], check=True)
        found = walk_platform(folder) if walk == PLATFORM else walk_tutorial(walk, folder)
        reports.keep(walk, found)
        stumbled = stumbled or any(report.stumbles for report in found)
        print(f"the logs are in {folder}")
    if options.store:
        today = dt.datetime.now(dt.UTC).strftime("%-d %B %Y")
        reports.store(f"On {today}, on a machine with {os.cpu_count()} cores that did other work meanwhile.")
    return int(stumbled)


if __name__ == "__main__":
    sys.exit(main())

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
# What make and the script themselves need. Python and Java are not among them.
TOOLS = ("sh", "make", "env", "sed", "head", "mkdir", "test", "awk", "cat", "touch")


@pytest.fixture
def commands(tmp_path: Path) -> Path:
    """A folder that stands for the PATH, with the shell's tools in it."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for tool in TOOLS:
        found = shutil.which(tool)
        assert found, tool
        (folder / tool).symlink_to(found)
    return folder


def command(path: Path, script: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def fake_java(path: Path, version: str) -> None:
    command(path, f"echo 'openjdk version \"{version}\" 2025-04-15' >&2")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A fresh checkout: the files that `make setup` checks before it starts to work."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    for name in ("Makefile", "requirements.lock", "tools"):
        (folder / name).symlink_to(ROOT / name)
    return folder


def setup(checkout: Path, commands: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `make setup` with these commands only."""
    return subprocess.run(
        ["make", "setup"],
        cwd=checkout,
        env={"PATH": str(commands), **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def assert_one_clear_line(result: subprocess.CompletedProcess[str], *words: str) -> None:
    """One line is ours, and the other is make's own, which says that a recipe failed."""
    assert result.returncode != 0
    assert result.stdout == ""
    complaint, *rest = result.stderr.splitlines()
    assert complaint.startswith("error: ")
    for word in words:
        assert word in complaint
    assert all(line.startswith("make") for line in rest)


def test_without_python_make_says_which_python_to_install(checkout: Path, commands: Path) -> None:
    fake_java(commands / "java", "17.0.15")
    assert_one_clear_line(setup(checkout, commands), "no Python 3.11 or newer", "PYTHON=")
    assert not (checkout / ".venv").exists()


def test_an_old_python_is_skipped(checkout: Path, commands: Path) -> None:
    fake_java(commands / "java", "17.0.15")
    command(commands / "python3", "exit 1")  # what an old one answers when asked whether it is new enough
    assert_one_clear_line(setup(checkout, commands), "no Python 3.11 or newer")


def test_a_python_that_is_named_but_does_not_fit_is_refused(checkout: Path, commands: Path) -> None:
    fake_java(commands / "java", "17.0.15")
    (commands / "python3").symlink_to(sys.executable)
    assert_one_clear_line(setup(checkout, commands, PYTHON="python2.7"), "PYTHON=python2.7", "unset PYTHON")


def test_without_java_make_says_what_to_install(checkout: Path, commands: Path) -> None:
    (commands / "python3").symlink_to(sys.executable)
    assert_one_clear_line(setup(checkout, commands), "no Java in the PATH", "17 or newer", "JAVA_HOME")
    assert not (checkout / ".venv").exists()


@pytest.mark.parametrize("version", ["1.8.0_452", "11.0.27", "16-ea"])
def test_an_old_java_is_refused_with_its_version(checkout: Path, commands: Path, version: str) -> None:
    (commands / "python3").symlink_to(sys.executable)
    fake_java(commands / "java", version)
    assert_one_clear_line(setup(checkout, commands), f"too old ({version})", "17 or newer")


def test_java_home_goes_before_the_path(checkout: Path, commands: Path, tmp_path: Path) -> None:
    (commands / "python3").symlink_to(sys.executable)
    fake_java(commands / "java", "17.0.15")
    fake_java(tmp_path / "jdk" / "bin" / "java", "11.0.27")
    result = setup(checkout, commands, JAVA_HOME=str(tmp_path / "jdk"))
    assert_one_clear_line(result, "JAVA_HOME", "too old (11.0.27)")


def test_a_fitting_python_is_found_when_an_old_one_goes_before_it(commands: Path) -> None:
    fake_java(commands / "java", "21.0.1")
    command(commands / "python3.11", "exit 127")  # a version manager's shim without a version
    (commands / "python3").symlink_to(sys.executable)
    script = ROOT / "tools" / "prerequisites.sh"
    found = subprocess.run(
        [script], env={"PATH": str(commands)}, capture_output=True, text=True, timeout=60, check=True
    )
    assert (found.stdout, found.stderr) == ("python3\n", "")


def test_make_alone_lists_what_it_can_do() -> None:
    listing = subprocess.run(
        ["make"], cwd=ROOT, env=os.environ, capture_output=True, text=True, timeout=60, check=True
    ).stdout
    for target in ("demo", "test", "check", "setup", "lock", "bench", "clean"):
        assert f"make {target} " in listing

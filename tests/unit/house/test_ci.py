"""`.ci/run`: which commands it runs, and how it ends. Each command is played by a short script."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

RUN = Path(__file__).parents[3] / ".ci" / "run"


@pytest.fixture
def ci(tmp_path: Path):
    """Runs a copy of the script, with a `make` that notes what it is called with and does as it is told."""
    (tmp_path / ".ci").mkdir()
    shutil.copy(RUN, tmp_path / ".ci")
    played, limit = (tmp_path / "bin" / name for name in ("make", "timeout"))
    played.parent.mkdir()

    def run(late: str | None = None, **does: str) -> tuple[int, str, set[str]]:
        """The target `late` gets a second, all others any time."""
        limited = f'exec {shutil.which("timeout")} "$1" "$2" 1 "${{@:4}}"'
        name = (late or "none").replace("_", "-")
        limit.write_text(f'#!/bin/bash\n(($3 > 0)) || exit 99\n[[ $5 == {name} ]] && {limited}\nexec "${{@:4}}"\n')
        limit.chmod(0o755)
        cases = "".join(f"{target.replace('_', '-')}) {action} ;;\n" for target, action in does.items())
        played.write_text(f'#!/bin/bash\necho "making $1"\necho "$1" >> {tmp_path}/called\ncase "$1" in\n{cases}esac\n')
        played.chmod(0o755)
        done = subprocess.run(
            ["bash", tmp_path / ".ci" / "run"],
            env={"PATH": f"{played.parent}{os.pathsep}{os.environ['PATH']}"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        return done.returncode, done.stdout, set((tmp_path / "called").read_text().split())

    return run


def test_all_is_run_and_shown(ci):
    code, said, called = ci()
    assert (code, called) == (0, {"setup", "check", "matrix-short", "test"})
    for target in called:
        assert f"== make {target} (0 min after the start)" in said
        assert f"making {target}\n" in said


@pytest.mark.parametrize("target", ["check", "matrix_short"])
def test_what_fails_is_named_and_no_test_follows(ci, target: str):
    code, said, called = ci(**{target: "exit 3"})
    assert (code, called) == (3, {"setup", "check", "matrix-short"})
    assert f"FAILED: 'make {target.replace('_', '-')}' ended with 3" in said


@pytest.mark.parametrize("target", ["check", "matrix_short", "test"])
def test_what_is_not_done_in_time_is_interrupted_and_named(ci, target: str):
    code, said, _ = ci(late=target, **{target: "exec sleep 500"})
    assert code == 124  # of an interrupt; it is 137 where only a kill helps
    assert f"STOPPED: 'make {target.replace('_', '-')}' was not done" in said

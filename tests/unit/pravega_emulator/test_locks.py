"""Locks between processes, held by real ones."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from aiopravega.errors import EmulatorError
from pravega_emulator.locks import is_locked, locked, try_lock

HOLD = "import sys; from pathlib import Path; from pravega_emulator.locks import try_lock; "
HOLD += "try_lock(Path(sys.argv[1])); print('held', flush=True); sys.stdin.read()"


@pytest.fixture
def holder(tmp_path):
    path = tmp_path / "folder" / "lock"
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    yield path, process
    process.kill()
    process.communicate()


def test_a_lock_of_another_process_is_seen_and_ends_with_that_process(holder):
    path, process = holder
    assert is_locked(path)
    assert try_lock(path) is None

    process.kill()
    process.wait()

    assert not is_locked(path)


def test_the_error_of_a_vain_wait_says_what_it_waited_for(holder):
    path, _ = holder

    with (
        pytest.raises(EmulatorError, match=r"waited 0 s for another process that is fetching"),
        locked(path, 0.2, "fetching"),
    ):
        pass


def test_a_lock_is_let_go_at_the_end_of_its_block(tmp_path: Path):
    path = tmp_path / "lock"
    with locked(path, 1, "testing"):
        assert is_locked(path)

    assert not is_locked(path)
    assert not is_locked(tmp_path / "never made")
    descriptor = try_lock(path)
    assert descriptor is not None
    os.close(descriptor)

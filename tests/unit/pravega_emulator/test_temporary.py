"""Folders that a killed process has left behind are removed by the next; those in use and young ones are not."""

import os
import tempfile
import time
from pathlib import Path

import pytest

from pravega_emulator.lifecycle import LOCK, new_folder
from pravega_emulator.locks import try_lock


@pytest.fixture
def old_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder = new_folder()
    (folder / LOCK).touch()
    (folder / "storage").mkdir()
    (folder / "storage" / "chunk").write_bytes(b"left behind")
    two_hours_ago = time.time() - 7200
    os.utime(folder, (two_hours_ago, two_hours_ago))
    return folder


def test_what_a_killed_process_left_is_removed(old_folder: Path):
    assert new_folder().exists()
    assert not old_folder.exists()


def test_a_folder_in_use_stays(old_folder: Path):
    lock = try_lock(old_folder / LOCK)
    assert lock is not None
    new_folder()
    assert (old_folder / "storage" / "chunk").exists()
    os.close(lock)


def test_a_young_folder_stays(old_folder: Path):
    os.utime(old_folder)
    new_folder()
    assert old_folder.exists()

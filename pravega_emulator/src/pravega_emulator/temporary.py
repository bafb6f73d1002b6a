"""Temporary folders for servers, and the end of those that a killed process has left behind."""

import shutil
import tempfile
import time
from pathlib import Path
from typing import Final

from pravega_emulator.locks import is_locked

LOCK: Final = "lock"
_PREFIX: Final = "pravega-emulator-"
# Younger ones may belong to an emulator that is about to lock its folder, or have a log that somebody still reads.
_OLD_SECONDS: Final = 3600.0


def new_folder() -> Path:
    """A folder of this process's own; old ones that no living process holds are removed first."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        try:
            age = time.time() - folder.stat().st_mtime
            if age > _OLD_SECONDS and not is_locked(folder / LOCK):
                shutil.rmtree(folder, ignore_errors=True)
        except OSError:  # another user's, or removed meanwhile
            continue
    return Path(tempfile.mkdtemp(prefix=_PREFIX))

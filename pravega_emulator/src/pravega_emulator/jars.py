"""The list of jars that the servers run from, and the folder that keeps them. `fetch` fetches them.

The list is exact (`jars.lock`, made by `pravega_emulator/tools/emulator_jars.py`), so that every machine runs the same
bytes. The folder of the jars has the hash of the list in its name: two releases of this package never mix their jars.
"""

import hashlib
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

LOCK_FILE = Path(__file__).with_name("jars.lock")
CACHE_VARIABLE = "PRAVEGA_EMULATOR_CACHE"
FOLDER_PREFIX = "jars-"
_FOLDER_HASH_DIGITS = 12


@dataclass(frozen=True, slots=True)
class Jar:
    """One file of the class path; `size` is in bytes."""

    group: str
    artifact: str
    version: str
    classifier: str
    sha256: str
    size: int

    @property
    def filename(self) -> str:
        """The name that Maven gives the file."""
        return "-".join(filter(None, [self.artifact, self.version, self.classifier])) + ".jar"

    def __str__(self) -> str:
        return ":".join(filter(None, [self.group, self.artifact, self.version, self.classifier]))


def parse_lock(text: str) -> tuple[Jar, ...]:
    """Read lines of `group:artifact:version[:classifier] sha256 size`; `#` starts a comment line."""
    jars = []
    for line in text.splitlines():
        if line.startswith("#") or not line.strip():
            continue
        coordinate, sha256, size = line.split()
        group, artifact, version, *classifier = coordinate.split(":")
        jars.append(Jar(group, artifact, version, "".join(classifier), sha256, int(size)))
    return tuple(jars)


@dataclass(frozen=True, slots=True)
class JarList:
    """All jars of a class path, and the SHA-256 of the list itself."""

    jars: tuple[Jar, ...]
    digest: str

    @classmethod
    def from_text(cls, text: str) -> "JarList":
        """Read the text of a lock file."""
        return cls(parse_lock(text), hashlib.sha256(text.encode()).hexdigest())

    def folder(self) -> Path:
        """The folder of these jars in the user's cache."""
        return cache_folder() / f"{FOLDER_PREFIX}{self.digest[:_FOLDER_HASH_DIGITS]}"


@cache
def locked_jars() -> JarList:
    """The list that this package was released with."""
    return JarList.from_text(LOCK_FILE.read_text(encoding="utf-8"))


def cache_folder() -> Path:
    """The folder that `PRAVEGA_EMULATOR_CACHE` names; by default `aiopravega/emulator` in the user's cache folder."""
    chosen = os.environ.get(CACHE_VARIABLE)
    if chosen:
        return Path(chosen).expanduser()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "aiopravega" / "emulator"

"""The programs that these tests need and that `make setup` does not bring: where they are, or why they are not there.

`make cdc-install` installs them: from Debian's packages, and Debezium Server from Maven Central.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.system.airflow.postgres import find_programs

from pravega_emulator.jars import cache_folder

INSTALL: Final = "make cdc-install"
JAVA: Final = 21  # Debezium Server 3.0 is compiled for it
_VERSION: Final = "3.0.0.Final"
_ARTIFACT: Final = f"io.debezium:debezium-server-dist:{_VERSION}:tar.gz"
_SHA256: Final = "3b3cf4b24a61a03195fa726d005e1e8df8f83b64bb6a25340f39c5d2fac19e18"
_COPY: Final = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"
_JAVAS: Final = ("openjdk-21-jre-headless", "openjdk-25-jre-headless")
_SAID: Final = re.compile(r'version "(\d+)')


def debezium() -> Path:
    """The folder of Debezium Server."""
    return cache_folder() / f"debezium-server-{_VERSION}"


def java() -> Path | None:
    """A Java that runs Debezium Server; the one that runs Pravega may be too old."""
    return next((each for each in _javas() if each.exists() and _version(each) >= JAVA), None)


def missing(database: str) -> str | None:
    """Why tests of a database cannot run here, or None."""
    lacking = []
    if not debezium().exists():
        lacking.append(f"Debezium Server {_VERSION}")
    if java() is None:
        lacking.append(f"Java {JAVA} or newer")
    if not (_has("mariadbd") if database == "mariadb" else _has_postgres()):
        lacking.append({"mariadb": "MariaDB", "postgresql": "PostgreSQL"}[database])
    return f"not on this machine: {', '.join(lacking)}. Install it with `{INSTALL}`" if lacking else None


def mariadb_program(name: str) -> str:
    """The path of a program of MariaDB."""
    found = shutil.which(name, path=_with_sbin())
    assert found is not None, f"there is no {name}: install it with `{INSTALL}`"
    return found


def _has(program: str) -> bool:
    return shutil.which(program, path=_with_sbin()) is not None


def _with_sbin() -> str:
    return os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin"))


def _has_postgres() -> bool:
    try:
        find_programs()
    except AssertionError:
        return False
    return True


def _javas() -> Iterator[Path]:
    for home in filter(None, (os.environ.get("CDC_JAVA_HOME"), os.environ.get("JAVA_HOME"))):
        yield Path(home, "bin", "java")
    on_path = shutil.which("java")
    if on_path:
        yield Path(on_path)
    yield from Path("/usr/lib/jvm").glob("*/bin/java")


def _version(program: Path) -> int:
    answer = subprocess.run([program, "-version"], check=False, capture_output=True, text=True)
    found = _SAID.search(answer.stderr + answer.stdout)
    return int(found[1]) if found else 0


def install() -> None:
    """Install what is not there yet."""
    packages = [] if _has_postgres() else ["postgresql"]
    packages += [] if _has("mariadbd") else ["mariadb-server"]
    packages += [] if _has("mvn") or debezium().exists() else ["maven"]
    if java() is None:
        packages += [each for each in _JAVAS if _is_offered(each)][:1]
    if packages:
        subprocess.run(["apt-get", "install", "-y", "--no-install-recommends", *packages], check=True)
    if not debezium().exists():
        _fetch()
    problems = {each for each in (missing("postgresql"), missing("mariadb")) if each}
    if problems:
        hint = f"Where Debian has no Java {JAVA}, install another one and set CDC_JAVA_HOME"
        sys.exit("\n".join([*problems, hint]))
    print(f"Debezium Server {_VERSION} in {debezium()}, {java()}, PostgreSQL and MariaDB are there")


def _is_offered(package: str) -> bool:
    answer = subprocess.run(["apt-cache", "policy", package], check=False, capture_output=True, text=True).stdout
    return "Candidate" in answer and "Candidate: (none)" not in answer


def _fetch() -> None:
    """Fetch Debezium Server by Maven, so that the machine's own settings say from where; it is checked and unpacked."""
    cache_folder().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache_folder()) as folder:
        subprocess.run(["mvn", "-q", "-B", _COPY, f"-Dartifact={_ARTIFACT}", f"-DoutputDirectory={folder}"], check=True)
        [archive] = Path(folder).glob("*.tar.gz")
        with archive.open("rb") as file:
            checksum = hashlib.file_digest(file, "sha256").hexdigest()
        if checksum != _SHA256:
            sys.exit(f"{_ARTIFACT}: expected SHA-256 {_SHA256}, got {checksum}")
        with tarfile.open(archive) as packed:
            packed.extractall(f"{folder}/unpacked", filter="data")
        (Path(folder) / "unpacked" / "debezium-server").rename(debezium())


if __name__ == "__main__":
    install()

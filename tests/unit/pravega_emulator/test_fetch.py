"""Fetching jars from a Maven repository that is a real HTTP server on this machine, and fails as real ones do."""

import hashlib
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from aiopravega.errors import ChecksumError, EmulatorError
from pravega_emulator.fetch import ensure_jars
from pravega_emulator.jars import JarList

CONTENTS = {f"org/example/jar{number}/1.0/jar{number}-1.0.jar": bytes([number]) * 5000 for number in range(5)}
FIRST = "org/example/jar0/1.0/jar0-1.0.jar"


@dataclass
class Repository:
    """What the server holds, what was asked of it, and how many of its next answers it breaks off."""

    files: dict[str, bytes] = field(default_factory=lambda: dict(CONTENTS))
    asked: list[str] = field(default_factory=list)
    truncated: int = 0
    url: str = ""


@pytest.fixture
def repository() -> Iterator[Repository]:
    state = Repository()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.removeprefix("/maven/")
            state.asked.append(path)
            content = state.files.get(path)
            if content is None:
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if state.truncated:
                state.truncated -= 1
                content = content[:1000]
            self.wfile.write(content)

        def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - the base class names it
            del format, arguments

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_port}/maven"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRAVEGA_EMULATOR_CACHE", str(tmp_path / "cache"))


def lock_text() -> str:
    lines = []
    for path, content in CONTENTS.items():
        artifact = path.split("/")[2]
        lines.append(f"org.example:{artifact}:1.0 {hashlib.sha256(content).hexdigest()} {len(content)}\n")
    return "".join(lines)


JARS = JarList.from_text(lock_text())


def is_whole(folder: Path) -> bool:
    return all((folder / Path(path).name).read_bytes() == content for path, content in CONTENTS.items())


def test_an_empty_cache_is_filled(repository):
    assert is_whole(ensure_jars(JARS, repository.url))


def test_a_full_cache_sends_no_requests(repository):
    ensure_jars(JARS, repository.url)
    repository.asked.clear()

    ensure_jars(JARS, repository.url)

    assert repository.asked == []


def test_a_download_that_breaks_off_is_fetched_again(repository):
    repository.truncated = 2

    assert is_whole(ensure_jars(JARS, repository.url))


def test_a_jar_that_is_broken_in_the_cache_is_fetched_again_and_no_other(repository):
    folder = ensure_jars(JARS, repository.url)
    (folder / "jar0-1.0.jar").write_bytes(b"cut off")
    repository.asked.clear()

    assert is_whole(ensure_jars(JARS, repository.url))
    assert {path for path in repository.asked if path.endswith(".jar")} == {FIRST}


def test_jars_that_another_release_has_cached_are_not_fetched_again(repository):
    folder = ensure_jars(JARS, repository.url)
    (folder / "jar0-1.0.jar").write_bytes(b"cut off")
    repository.asked.clear()

    newer = JarList.from_text("# another release\n" + lock_text())

    assert newer.folder() != folder
    assert is_whole(ensure_jars(newer, repository.url))
    assert {path for path in repository.asked if path.endswith(".jar")} == {FIRST}


def test_a_wrong_checksum_names_the_file_what_was_expected_and_what_came(repository):
    wrong = b"something else" * 100
    repository.files[FIRST] = wrong

    with pytest.raises(ChecksumError) as caught:
        ensure_jars(JARS, repository.url)

    message = str(caught.value)
    assert "jar0-1.0.jar" in message
    assert hashlib.sha256(CONTENTS[FIRST]).hexdigest() in message
    assert hashlib.sha256(wrong).hexdigest() in message
    assert "mirror" in message


def test_after_a_failure_the_next_attempt_fetches_only_what_is_missing(repository):
    repository.files[FIRST] = b"something else"
    with pytest.raises(ChecksumError):
        ensure_jars(JARS, repository.url)
    arrived = {path.name for path in JARS.folder().glob("*.jar")}
    repository.files[FIRST] = CONTENTS[FIRST]
    repository.asked.clear()

    assert is_whole(ensure_jars(JARS, repository.url))
    assert arrived.isdisjoint(Path(path).name for path in repository.asked)


def test_nothing_is_left_of_a_failed_download(repository, tmp_path):
    repository.files[FIRST] = b"something else"
    with pytest.raises(ChecksumError):
        ensure_jars(JARS, repository.url)

    assert not (JARS.folder() / "jar0-1.0.jar").exists()
    assert list((tmp_path / "cache").glob("fetching-*")) == []


def test_a_missing_jar_and_a_repository_that_is_not_there_are_named(repository):
    del repository.files[FIRST]
    with pytest.raises(EmulatorError, match=r"could not fetch org\.example:jar0:1\.0"):
        ensure_jars(JARS, repository.url)

    with pytest.raises(EmulatorError, match="PRAVEGA_EMULATOR_MAVEN_REPOSITORY"):
        ensure_jars(JARS, "http://127.0.0.1:9/maven")


def test_processes_that_fetch_at_the_same_time_fetch_every_jar_once(repository, tmp_path):
    lock = tmp_path / "jars.lock"
    lock.write_text(lock_text())
    script = (
        "import sys; from pathlib import Path; from pravega_emulator.fetch import ensure_jars; "
        "from pravega_emulator.jars import JarList; "
        "ensure_jars(JarList.from_text(Path(sys.argv[1]).read_text()), sys.argv[2])"
    )

    processes = [subprocess.Popen([sys.executable, "-c", script, str(lock), repository.url]) for _ in range(3)]

    assert [process.wait(60) for process in processes] == [0, 0, 0]
    assert is_whole(JARS.folder())
    assert sorted(path for path in repository.asked if path.endswith(".jar")) == sorted(CONTENTS)


def test_where_there_is_no_terminal_progress_is_plain_lines(repository, capsys):
    ensure_jars(JARS, repository.url)

    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("Fetching 5 jars")
    assert len(lines) <= 5
    assert not any("\x1b" in line for line in lines)

"""Finding Java: programs that answer `-version` as the real ones do."""

from pathlib import Path

import pytest

from aiopravega.errors import EmulatorError
from pravega_emulator.java import find_java, java_command


def runtime(folder: Path, answer: str, code: int = 0) -> Path:
    """A folder for JAVA_HOME whose `java` prints this to standard error."""
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{answer}\nEND\nexit {code}\n")
    java.chmod(0o755)
    return folder


@pytest.mark.parametrize("version", ["17", "17.0.15", "21.0.2", "25-ea"])
def test_java_17_and_newer_is_taken(tmp_path, monkeypatch, version):
    home = runtime(tmp_path / "jdk", f'openjdk version "{version}" 2025-04-15\nOpenJDK Runtime Environment')
    monkeypatch.setenv("JAVA_HOME", str(home))

    assert find_java() == str(home / "bin" / "java")


@pytest.mark.parametrize(("version", "shown"), [("1.8.0_402", "Java 8"), ("11.0.22", "Java 11"), ("16", "Java 16")])
def test_an_older_java_is_refused_in_one_line_that_says_what_to_do(tmp_path, monkeypatch, version, shown):
    monkeypatch.setenv("JAVA_HOME", str(runtime(tmp_path / "jdk", f'java version "{version}"')))

    with pytest.raises(EmulatorError) as caught:
        find_java()

    assert shown in str(caught.value)
    assert "install a JDK or JRE 17 or newer" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_no_java_at_all_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(EmulatorError, match="no java on PATH: install"):
        find_java()


def test_without_java_home_the_path_decides(tmp_path, monkeypatch):
    home = runtime(tmp_path / "jdk", 'openjdk version "17.0.1"')
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", f"{home / 'bin'}:/usr/bin:/bin")

    assert find_java() == str(home / "bin" / "java")


def test_a_java_home_without_java_or_with_one_that_fails_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(EmulatorError, match=rf"{tmp_path}/bin/java -version failed"):
        find_java()

    monkeypatch.setenv("JAVA_HOME", str(runtime(tmp_path / "broken", "cannot start", code=1)))
    with pytest.raises(EmulatorError, match="failed"):
        find_java()


def test_an_answer_that_is_no_version_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(runtime(tmp_path / "jdk", "hello")))

    with pytest.raises(EmulatorError, match="an unknown version"):
        find_java()


def test_the_command_gives_the_server_memory_and_a_temporary_folder():
    command = java_command(
        "java", Path("/jars"), Path("/scratch/tmp"), ["Main", "argument"], heap_megabytes=300, direct_megabytes=400
    )

    assert command[0] == "java"
    assert command[-2:] == ["Main", "argument"]
    assert {"-Xmx300m", "-XX:MaxDirectMemorySize=400m", "-Djava.io.tmpdir=/scratch/tmp"} <= set(command)
    assert command[command.index("-cp") + 1] == "/jars/*"

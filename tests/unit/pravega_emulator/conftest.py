"""A Java that starts servers which are played: the emulator starts, asks and ends them as it does real ones."""

import sys
from pathlib import Path

import pytest

PLAYED = Path(__file__).with_name("played_pravega.py")


@pytest.fixture
def played_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything that is started from now on takes this Java."""
    java = tmp_path / "java" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(
        "#!/bin/sh\n"
        'if [ "$1" = -version ]; then echo \'version "17.0.1"\'; exit; fi\n'
        f'exec {sys.executable} {PLAYED} "$@"\n'
    )
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(java.parents[1]))


@pytest.fixture(params=["played", pytest.param("real", marks=pytest.mark.slow)])
def any_java(request: pytest.FixtureRequest) -> None:
    """Played servers, a Python process each; with `make proofs` real ones, too."""
    if request.param == "played":
        request.getfixturevalue("played_java")

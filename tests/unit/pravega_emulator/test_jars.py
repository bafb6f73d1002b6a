"""The list of jars, and where they are kept."""

import re
from pathlib import Path

import pytest

from pravega_emulator.jars import JarList, cache_folder, locked_jars


def test_the_released_list_has_every_server_and_a_checksum_for_each_jar():
    jars = locked_jars().jars

    assert len(jars) > 150
    assert {"pravega-standalone-0.13.0.jar", "schemaregistry-server-0.6.0.jar"} <= {jar.filename for jar in jars}
    assert all(re.fullmatch(r"[0-9a-f]{64}", jar.sha256) and jar.size > 0 for jar in jars)


def test_no_two_jars_share_a_file_name():
    names = [jar.filename for jar in locked_jars().jars]

    assert len(set(names)) == len(names)


def test_a_line_is_a_coordinate_maybe_a_classifier_a_checksum_and_a_size():
    jars = JarList.from_text("# comment\n\norg.x:a:1.0 ff 10\norg.x:b:2.0:linux-x86_64 ee 20\n")

    assert [str(jar) for jar in jars.jars] == ["org.x:a:1.0", "org.x:b:2.0:linux-x86_64"]
    assert [jar.filename for jar in jars.jars] == ["a-1.0.jar", "b-2.0-linux-x86_64.jar"]
    assert [jar.size for jar in jars.jars] == [10, 20]


def test_another_list_has_another_folder():
    assert JarList.from_text("g:a:1 ff 1\n").folder() != JarList.from_text("g:a:2 ff 1\n").folder()


def test_the_cache_is_where_the_environment_says(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("PRAVEGA_EMULATOR_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    assert cache_folder() == Path("/caches/aiopravega/emulator")

    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == Path.home() / ".cache/aiopravega/emulator"

    monkeypatch.setenv("PRAVEGA_EMULATOR_CACHE", "/elsewhere")
    assert cache_folder() == Path("/elsewhere")

"""Archives of sources with what Python compiles from them."""

import subprocess
import sys
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from tools.compile_pyspark import compile_archives

from aiopravega.errors import ConfigurationError

_LOADED_FROM = "import package.part\nprint(package.part.__file__, package.part.VALUE)"


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    with ZipFile(tmp_path / "lib.zip", "w", ZIP_DEFLATED) as new:
        new.writestr("package/__init__.py", "")
        new.writestr("package/part.py", "VALUE = 41 + 1\n")
        new.writestr("package/data.json", '{"a": 1}')
        new.writestr("package/tests/test_part.py", "import package\n")
    return tmp_path / "lib.zip"


def test_modules_are_imported_as_they_were_compiled(archive: Path) -> None:
    assert list(compile_archives(archive.parent)) == [(archive, 2)]
    assert _run(_LOADED_FROM, archive) == f"{archive}/package/part.pyc 42"
    assert _run("import importlib.resources as r\nprint(r.read_text('package', 'data.json'))", archive) == '{"a": 1}'
    with ZipFile(archive) as compiled:
        assert "package/tests/test_part.py" in compiled.namelist()
        assert "package/tests/test_part.pyc" not in compiled.namelist()
    assert list(archive.parent.iterdir()) == [archive]


def test_a_second_time_changes_nothing(archive: Path) -> None:
    assert dict(compile_archives(archive.parent)) == {archive: 2}
    before = archive.read_bytes()
    assert dict(compile_archives(archive.parent)) == {archive: 0}
    assert archive.read_bytes() == before


def test_modules_of_another_python_are_passed_over_and_made_anew(archive: Path) -> None:
    with ZipFile(archive, "a") as other:
        other.writestr("package/part.pyc", b"\0\0\r\n" + b"\0" * 12)
    assert _run(_LOADED_FROM, archive) == f"{archive}/package/part.py 42"
    assert dict(compile_archives(archive.parent)) == {archive: 2}
    assert _run(_LOADED_FROM, archive) == f"{archive}/package/part.pyc 42"


def test_tracebacks_still_show_the_lines_of_sources(archive: Path) -> None:
    with ZipFile(archive, "a") as more:
        more.writestr("package/broken.py", "raise ValueError('broken')  # this line\n")
    dict(compile_archives(archive.parent))
    program = "import traceback\ntry:\n    import package.broken\nexcept ValueError:\n    print(traceback.format_exc())"
    assert "# this line" in _run(program, archive)


def test_a_folder_without_archives_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no archives of PySpark"):
        list(compile_archives(tmp_path))


def _run(program: str, archive: Path) -> str:
    environment = {"PYTHONPATH": str(archive)}
    ran = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    return ran.stdout.strip()

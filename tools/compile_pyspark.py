"""`python tools/compile_pyspark.py`: a faster start of the Python processes of Spark on this machine.

Spark's Python processes import PySpark from archives of sources (`python/lib/*.zip` in Spark's folder), and Python
does not store what it compiles from an archive. So each process compiles PySpark again: each streaming query that
reads from a source in Python starts one, and each session several. This puts the compiled modules beside their
sources, once for an installation. Another version of Python ignores them and takes the sources.
"""

import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from importlib.util import MAGIC_NUMBER, source_hash
from marshal import dumps
from pathlib import Path
from typing import Final
from zipfile import ZIP_DEFLATED, ZipFile

from aiopravega.errors import ConfigurationError

# Flags after the magic number of a .pyc: it has a hash of its source, and the hash is not to be checked.
_UNCHECKED_HASH: Final = (0b01).to_bytes(4, "little")
_TESTS: Final = "/tests/"


def compile_archives(folder: Path) -> Iterator[tuple[Path, int]]:
    """Compile all modules but tests in the archives of a folder. An archive is replaced as a whole when it is ready.

    No process that uses the archives may run meanwhile: Python keeps the positions of an archive's members.

    Args:
        folder: Spark's `python/lib`.

    Returns:
        Each archive, and the number of its modules that were compiled: 0 if this version of Python did it before.

    Raises:
        ConfigurationError: the folder has no archives, or they cannot be replaced.
    """
    archives = sorted(folder.glob("*.zip"))
    if not archives:
        raise ConfigurationError(f"there are no archives of PySpark in {folder}: is SPARK_HOME Spark's folder?")
    for archive in archives:
        try:
            yield archive, _compile(archive)
        except OSError as error:
            raise ConfigurationError(
                f"the archive {archive} cannot be replaced: {error.strerror}. Run this as the user who installed Spark"
            ) from error


def _compile(archive: Path) -> int:
    with ZipFile(archive) as old:
        names = old.namelist()
        sources = [name for name in names if name.endswith(".py") and _TESTS not in f"/{name}"]
        if all(_is_compiled(old, name, names) for name in sources):
            return 0
        compiled = {f"{name}c": _compiled(old.read(name), f"{archive}/{name}") for name in sources}
        with tempfile.NamedTemporaryFile(dir=archive.parent, suffix=".part", delete=False) as part:
            try:
                with ZipFile(part, "w", ZIP_DEFLATED) as new:
                    for name in names:
                        if not name.endswith(".pyc"):
                            new.writestr(old.getinfo(name), old.read(name), ZIP_DEFLATED)
                    for name, code in compiled.items():
                        new.writestr(name, code)
                Path(part.name).chmod(archive.stat().st_mode)
                Path(part.name).replace(archive)
            except BaseException:
                Path(part.name).unlink()
                raise
    return len(compiled)


def _is_compiled(archive: ZipFile, name: str, names: Sequence[str]) -> bool:
    return f"{name}c" in names and archive.read(f"{name}c").startswith(MAGIC_NUMBER)


def _compiled(source: bytes, path: str) -> bytes:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of PySpark's sources
        code = compile(source, path, "exec", dont_inherit=True)
    return MAGIC_NUMBER + _UNCHECKED_HASH + source_hash(source) + dumps(code)


def main() -> None:
    """Compile the archives of the Spark that PySpark uses here, and print the number of modules."""
    from pyspark.find_spark_home import _find_spark_home

    try:
        for archive, count in compile_archives(Path(_find_spark_home()) / "python" / "lib"):
            print(f"{archive}: {f'{count} modules compiled' if count else 'compiled before'}")
    except ConfigurationError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()

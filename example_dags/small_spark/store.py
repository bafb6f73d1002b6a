"""`python -m example_dags.small_spark.store`: a faster start of Spark's Java processes on this machine.

Most of what a short Spark job takes of the processor is Java loading, checking and preparing classes. Java can do that
once, and store the result in a file, an archive of class data sharing. The file holds for one class path that has no
folder in it, so Spark's jars come before the folder of settings. Where anything else is found,
another Java or other jars, Java takes no notice of the file.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from example_dags.small_spark import ARCHIVE, FOLDER, stored_folder

_SETTINGS: Final = "spark-defaults.conf"
_JAVA: Final = ("spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions")
_PATHS: Final = ("spark.driver.extraClassPath", "spark.executor.extraClassPath")
# Without a word about classes that cannot be stored, and where the file does not fit.
_QUIET: Final = "-Xlog:cds=off -Xlog:cds+dynamic=off"
_USE: Final = f"{_QUIET} -XX:SharedArchiveFile="
_STORE: Final = f"{_QUIET} -XX:ArchiveClassesAtExit="
_SECONDS: Final = 600


def main() -> None:
    """Run some jobs, store the classes that they have used, and write settings that name the file.

    Where Java cannot do that, Spark only starts slower: this says so, and is no failure.
    """
    from pyspark.find_spark_home import _find_spark_home

    jars = Path(_find_spark_home()) / "jars"
    folder = stored_folder()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    shutil.copy(FOLDER / "log4j2.properties", folder)
    archive = folder / ARCHIVE
    with tempfile.TemporaryDirectory() as scratch:
        part = Path(scratch) / ARCHIVE
        write_settings(folder, jars, f"{_STORE}{part}")
        command = [sys.executable, str(Path(__file__).with_name("some_jobs.py")), scratch]
        done = subprocess.run(
            command,
            env=os.environ | {"SPARK_CONF_DIR": str(folder), "PYSPARK_PYTHON": sys.executable},
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        if done.returncode or not part.exists():
            shutil.rmtree(folder)
            print(f"Spark's classes could not be stored, so it starts slower:\n{done.stdout}{done.stderr}")
            return
        write_settings(folder, jars, f"{_USE}{archive}")
        shutil.move(part, archive)


def write_settings(folder: Path, jars: Path, option: str) -> None:
    """Write the settings of this folder, with an option of Java more, and with the jars first on the class path."""
    lines = (FOLDER / _SETTINGS).read_text(encoding="utf-8").splitlines()
    lines = [f"{line} {option}" if line.startswith(_JAVA) else line for line in lines]
    lines += [f"{path} {jars}/*" for path in _PATHS]
    (folder / _SETTINGS).write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

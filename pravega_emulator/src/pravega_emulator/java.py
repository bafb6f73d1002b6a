"""Find a Java runtime that the servers run on, and the options that it needs."""

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from aiopravega.errors import EmulatorError

MINIMUM_VERSION = 17
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
_CHECK_SECONDS = 120
_REMEDY = f"install a JDK or JRE {MINIMUM_VERSION} or newer and put it on PATH, or point JAVA_HOME at it"
# Pravega 0.13.0 reflects on these packages, which newer runtimes close.
_OPENED = ("java.lang", "java.nio", "sun.nio.ch", "java.util", "java.util.concurrent", "jdk.internal.misc")
# Most servers here live for minutes: compiling hot code thoroughly takes more of the processor than all that they do.
QUICK_COMPILER = "-XX:TieredStopAtLevel=1"
_LOGBACK = Path(__file__).with_name("logback.xml")


def find_java() -> str:
    """The path of `java`: from JAVA_HOME if that is set, otherwise from PATH.

    Raises:
        EmulatorError: there is none, it does not run, or it is older than Java 17.
    """
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    if java is None:
        raise EmulatorError(f"Pravega needs Java {MINIMUM_VERSION}, but there is no java on PATH: {_REMEDY}")
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=_CHECK_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise EmulatorError(f"{java} -version failed ({error}): {_REMEDY}") from error
    found = _VERSION.search(answer.stderr + answer.stdout)
    if found is None or int(found[1]) < MINIMUM_VERSION:
        version = found[1] if found else "an unknown version"
        raise EmulatorError(f"Pravega needs Java {MINIMUM_VERSION}, but {java} is Java {version}: {_REMEDY}")
    return java


def java_command(
    java: str,
    jars: Path,
    temporary: Path,
    main: Sequence[str],
    *,
    heap_megabytes: int,
    direct_megabytes: int = 0,
    full_jit: bool = False,
    options: Sequence[str] = (),
) -> list[str]:
    """The command line of one server: `main` is its main class and arguments, `temporary` a folder of its own.

    With `full_jit` Java compiles hot code as fast as it can be: a start takes twice the time, and a server under load
    gains it back after some minutes.
    """
    compiler = [] if full_jit else [QUICK_COMPILER]
    direct = [f"-XX:MaxDirectMemorySize={direct_megabytes}m"] if direct_megabytes else []
    opened = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED]
    logging = f"-Dlogback.configurationFile={_LOGBACK}"
    # Native libraries are unpacked into the temporary folder, and stay there when the server is killed.
    files = [f"-Djava.io.tmpdir={temporary}", "-XX:-UsePerfData"]
    heap = f"-Xmx{heap_megabytes}m"
    return [java, heap, *direct, *compiler, *opened, logging, *files, *options, "-cp", str(jars / "*"), *main]

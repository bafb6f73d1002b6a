"""Command lines of Java programs that use the official client: source files, which Java compiles as it starts them."""

import os
from pathlib import Path

from pravega_emulator.fetch import ensure_jars
from pravega_emulator.java import QUICK_COMPILER, find_java


def java_program(
    source: Path, *arguments: str, heap_megabytes: int = 256, jars: Path | None = None, full_jit: bool = False
) -> list[str]:
    """The command line of one program, with the emulator's jars and those of one more folder.

    `full_jit` is for a program whose speed is measured. The others live for seconds: compiling thoroughly takes more of
    the processor than all that they do.
    """
    brief = [] if full_jit else [QUICK_COMPILER, "-XX:+UseSerialGC"]
    path = os.pathsep.join(f"{folder}/*" for folder in (jars, ensure_jars()) if folder is not None)
    return [find_java(), *brief, f"-Xmx{heap_megabytes}m", "-cp", path, str(source), *arguments]

"""Command lines of Java programs that use the official client: source files, which Java compiles as it starts them."""

import os
from collections.abc import Sequence
from pathlib import Path

from pravega_emulator.fetch import ensure_jars
from pravega_emulator.java import QUICK_COMPILER, find_java


def java_program(
    source: Path, *arguments: str, heap_megabytes: int = 256, jars: Sequence[Path] = (), full_jit: bool = False
) -> list[str]:
    """The command line of one program, with the emulator's jars and more of them: folders, or single files.

    `full_jit` is for a program whose speed is measured. The others live for seconds: compiling thoroughly takes more of
    the processor than all that they do.
    """
    brief = [] if full_jit else [QUICK_COMPILER, "-XX:+UseSerialGC"]
    path = os.pathsep.join(str(jar) if jar.is_file() else f"{jar}/*" for jar in (*jars, ensure_jars()))
    return [find_java(), *brief, f"-Xmx{heap_megabytes}m", "-cp", path, str(source), *arguments]

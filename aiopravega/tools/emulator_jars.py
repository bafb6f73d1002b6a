"""Write `jars.lock`: the exact jars of Pravega standalone and the Schema Registry, with SHA-256 and size.

Run it only to move to another version: `python aiopravega/tools/emulator_jars.py`. It needs Maven (`mvn`), which
users of the emulator do not. Maven resolves `emulator-jars.pom.xml` beside this file, which leaves out the storage
backends that an embedded server does not use (Hadoop, Google, Azure, Amazon, Dell ECS: 200 jars) and the second and
third logging backends, and pins protobuf and Jackson to versions that both servers run with.
"""

import hashlib
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
POM = HERE / "emulator-jars.pom.xml"
LOCK = HERE.parent / "src" / "aiopravega" / "emulator" / "jars.lock"
HEADER = """\
# The class path of the embedded Pravega 0.13.0 and Schema Registry 0.6.0: coordinate, SHA-256, bytes.
# Made by aiopravega/tools/emulator_jars.py; do not edit by hand.
"""


def coordinate(repository: Path, jar: Path) -> str:
    """`group:artifact:version[:classifier]` of a jar in a Maven repository folder."""
    *group, artifact, version = jar.parent.relative_to(repository).parts
    classifier = jar.stem.removeprefix(f"{artifact}-{version}").removeprefix("-")
    return ":".join([".".join(group), artifact, version, *([classifier] if classifier else [])])


def main() -> None:
    """Resolve, hash and write."""
    with tempfile.TemporaryDirectory() as folder:
        repository = Path(folder)
        goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", "-Dmdep.useRepositoryLayout=true"]
        subprocess.run(["mvn", "-q", "-B", "-f", POM, *goal, f"-DoutputDirectory={repository}"], check=True)
        lines = sorted(
            f"{coordinate(repository, jar)} {hashlib.sha256(jar.read_bytes()).hexdigest()} {jar.stat().st_size}\n"
            for jar in repository.rglob("*.jar")
        )
    LOCK.write_text(HEADER + "".join(lines), encoding="utf-8")
    print(f"{len(lines)} jars in {LOCK}")


if __name__ == "__main__":
    main()

"""Write `jars.lock`: the exact jars of Pravega standalone and the Schema Registry, with SHA-256 and size.

And `tests/java/serializers.lock`: those that the official serializers need beside them, for tests and benchmarks; and
`tests/java/iceberg-rest.lock`, `tests/java/flink.lock`, `tests/java/kafka.lock`, `tests/java/yarn.lock`: those of the
REST server of Iceberg, of Flink, of Kafka's broker, and of YARN, for tests.

Run it only to move to another version: `python pravega_emulator/tools/emulator_jars.py`. It needs Maven (`mvn`), which
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
LOCK = HERE.parent / "src" / "pravega_emulator" / "jars.lock"
TITLE = "The class path of the embedded Pravega 0.13.0 and Schema Registry 0.6.0"
JAVA = HERE.parents[1] / "tests" / "java"
SERIALIZERS_TITLE = "What the official serializers 0.6.0 need beside the class path of the emulator"
FLINK_TITLE = "The class path of a cluster of Flink 1.20.5"
ICEBERG_TITLE = "The class path of the REST server of Iceberg 1.9.2, but for Hadoop's classes"
KAFKA_TITLE = "The class path of Kafka's broker 3.9.1"
YARN_TITLE = "The class path of YARN's ResourceManager and NodeManager 3.5.0"
HEADER = """\
# {title}: coordinate, SHA-256, bytes.
# Made by pravega_emulator/tools/emulator_jars.py; do not edit by hand.
"""


def coordinate(repository: Path, jar: Path) -> str:
    """`group:artifact:version[:classifier]` of a jar in a Maven repository folder."""
    *group, artifact, version = jar.parent.relative_to(repository).parts
    classifier = jar.stem.removeprefix(f"{artifact}-{version}").removeprefix("-")
    return ":".join([".".join(group), artifact, version, *([classifier] if classifier else [])])


def resolved(pom: Path) -> list[str]:
    """The lines of a lock: what Maven resolves."""
    with tempfile.TemporaryDirectory() as folder:
        repository = Path(folder)
        goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", "-Dmdep.useRepositoryLayout=true"]
        subprocess.run(["mvn", "-q", "-B", "-f", pom, *goal, f"-DoutputDirectory={repository}"], check=True)
        return sorted(
            f"{coordinate(repository, jar)} {hashlib.sha256(jar.read_bytes()).hexdigest()} {jar.stat().st_size}\n"
            for jar in repository.rglob("*.jar")
        )


def artifact(line: str) -> str:
    """Group and artifact of a line, without its version."""
    return ":".join(line.split(":")[:2])


def main() -> None:
    """Resolve, hash and write."""
    servers = resolved(POM)
    LOCK.write_text(HEADER.format(title=TITLE) + "".join(servers), encoding="utf-8")
    known = {artifact(line) for line in servers}
    more = [line for line in resolved(JAVA / "serializers.pom.xml") if artifact(line) not in known]
    (JAVA / "serializers.lock").write_text(HEADER.format(title=SERIALIZERS_TITLE) + "".join(more), encoding="utf-8")
    catalog = "".join(resolved(JAVA / "iceberg-rest.pom.xml"))
    (JAVA / "iceberg-rest.lock").write_text(HEADER.format(title=ICEBERG_TITLE) + catalog, encoding="utf-8")
    (JAVA / "flink.lock").write_text(
        HEADER.format(title=FLINK_TITLE) + "".join(resolved(JAVA / "flink.pom.xml")), "utf-8"
    )
    broker = "".join(resolved(JAVA / "kafka.pom.xml"))
    (JAVA / "kafka.lock").write_text(HEADER.format(title=KAFKA_TITLE) + broker, encoding="utf-8")
    yarn = "".join(resolved(JAVA / "yarn.pom.xml"))
    (JAVA / "yarn.lock").write_text(HEADER.format(title=YARN_TITLE) + yarn, encoding="utf-8")
    print(f"{len(servers)} jars in {LOCK}, {len(more)} beside them")


if __name__ == "__main__":
    main()

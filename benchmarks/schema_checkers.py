"""Counts how many verdicts of the tables of changes other checkers of schemas get right.

Run `python -m benchmarks.schema_checkers` after `pip install avro jsonsubschema buf-bin`; what is not installed is left
out. A checker that fails, or takes more than ten seconds, has no answer.
"""

import contextlib
import io
import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

VECTORS = Path(__file__).parents[1] / "tests" / "vectors"
LIMIT = 10  # seconds

Checker = Callable[[Any, Any], bool]
"""Whether a reader, the first, reads all of a writer."""


def avro_says(reader: Any, writer: Any) -> bool:
    """The checker of Avro's own package."""
    schema, compatibility = import_module("avro.schema"), import_module("avro.compatibility")
    checker = compatibility.ReaderWriterCompatibilityChecker()
    result = checker.get_compatibility(*(schema.parse(json.dumps(each)) for each in (reader, writer)))
    return bool(result.compatibility is compatibility.SchemaCompatibilityType.compatible)


def jsonsubschema_says(reader: Any, writer: Any) -> bool:
    """True if the writer's schema is a subschema; the library may change its arguments, and prints."""
    copies = json.loads(json.dumps([writer, reader]))
    with contextlib.redirect_stdout(io.StringIO()):
        answer = import_module("jsonsubschema").isSubschema(*copies)
    if answer is None:
        raise ValueError("no answer")
    return bool(answer)


def buf_says(rules: str) -> Checker:
    """The findings of `buf breaking`, which compares an older and a newer schema, not a reader and a writer."""

    def says(newer: str, older: str) -> bool:
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("new", newer), ("old", older)):
                module = Path(folder, name)
                module.mkdir()
                (module / "events.proto").write_text(text, encoding="utf-8")
                (module / "buf.yaml").write_text(f"version: v2\nbreaking:\n  use: [{rules}]\n", encoding="utf-8")
            words = ["buf", "breaking", f"{folder}/new", "--against", f"{folder}/old"]
            done = subprocess.run(words, capture_output=True, text=True, check=False, env=os.environ | {"HOME": folder})
        if done.returncode not in {0, 100}:
            raise ValueError(done.stderr)
        return done.returncode == 0

    return says


def checkers() -> Iterator[tuple[str, str, Checker]]:
    """Format, name and function of what is installed."""
    if find_spec("avro"):
        yield "avro", "avro", avro_says
    if find_spec("jsonsubschema"):
        yield "json", "jsonsubschema", jsonsubschema_says
    if shutil.which("buf"):
        for rules in ("WIRE", "WIRE_JSON", "FILE"):
            yield "protobuf", f"buf, {rules}", buf_says(rules)


def compared(says: Checker, change: dict[str, Any]) -> Iterator[str]:
    """For each direction: right, false yes, false no, or no answer."""
    old, new = change["old"], change["new"]
    for direction, (reader, writer) in {"backward": (new, old), "forward": (old, new)}.items():
        signal.alarm(LIMIT)
        try:
            answer = says(reader, writer)
        except Exception:  # noqa: BLE001 - a checker may fail as it likes: that is what is counted
            yield "no answer"
            continue
        finally:
            signal.alarm(0)
        yield "right" if answer != bool(change[direction]) else "false yes" if answer else "false no"


def _too_long(*_: object) -> None:
    raise TimeoutError


def main() -> None:
    """Print a line for each checker."""
    signal.signal(signal.SIGALRM, _too_long)
    columns = ("right", "false yes", "false no", "no answer")
    print(f"{'checker':16} {'verdicts':>9} " + " ".join(f"{column:>9}" for column in columns))
    for kind, name, says in checkers():
        rows = json.loads((VECTORS / f"schema-changes-{kind}.json").read_text(encoding="utf-8"))["changes"]
        counts = Counter(verdict for change in rows for verdict in compared(says, change))
        print(
            f"{name:16} {sum(counts.values()):9} " + " ".join(f"{counts[column]:9}" for column in columns), flush=True
        )


if __name__ == "__main__":
    main()

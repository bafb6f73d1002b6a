"""The reference of Spark's options: their names from the code, their meaning from the how-to pages that explain them.

An option that no page explains is an error.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from aiopravega.config import PravegaConfig
from pravega_jobs.decoding.options import CHANGE_OPTIONS, DECODE_OPTIONS
from pravega_jobs.spark.options import CONNECTION_OPTIONS
from pyspark_pravega.encode.encode_options import ENCODE_OPTIONS
from pyspark_pravega.read.read_options import READ_OPTIONS
from pyspark_pravega.read.stream_options import STREAMING_OPTIONS
from pyspark_pravega.write.write_options import WRITE_OPTIONS

HOW_TO = Path(__file__).resolve().parents[1] / "docs" / "how-to"
# Where options are explained; the first page that has one counts.
READING = ("read-with-spark", "stream-with-spark", "event-time", "typed-reads", "change-data", "split-segments")
WRITING = ("encode-events", "write-with-spark", "stream-into-pravega", "write-changes")
ROW = re.compile(r"^\| (`[^|]+) \|(.*)\|\n(?!\|---)", re.MULTILINE)  # not the head of a table
CODE = re.compile(r"`(…?[a-z_]+)`")


def explained(pages: tuple[str, ...]) -> dict[str, tuple[str, str]]:
    """The page of each option that a table explains, and what the table says."""
    found: dict[str, tuple[str, str]] = {}
    for page in pages:
        for names, rest in ROW.findall((HOW_TO / f"{page}.md").read_text(encoding="utf-8")):
            first = ""
            for name in CODE.findall(names):
                whole = f"{first.rpartition('_')[0]}{name[1:]}" if name.startswith("…") else name
                first = first or whole
                found.setdefault(whole, (page, " | ".join(cell.strip() for cell in rest.split("|", 1))))
    return found


def rows(options: list[str], known: dict[str, tuple[str, str]]) -> Iterator[str]:
    """A row for each option.

    Raises:
        ValueError: no page explains it.
    """
    yield from ("| option | default | meaning | more |", "|---|---|---|---|")
    for option in dict.fromkeys(options):
        if option not in known:
            raise ValueError(
                f"no page of {', '.join((*READING, *WRITING))} explains Spark's option {option!r} in a table"
            )
        page, meaning = known[option]
        meaning = re.sub(r"\]\((?!\.\./|https?:)([^)]+)\)", r"](../how-to/\1)", meaning)
        yield f"| `{option}` | {meaning} | [{page}](../how-to/{page}.md) |"


def spark() -> Iterator[str]:
    """The options of the source and of the sink."""
    of_reads, of_writes = explained(READING), explained(WRITING)
    yield from ("## The stream and the cluster, for all", "| option | default | meaning |", "|---|---|---|")
    yield "| `stream` |  | the stream: its name, or `scope/stream` |"
    for option, name in CONNECTION_OPTIONS.items():
        field = PravegaConfig.model_fields[name]
        default = "" if field.default is None or field.is_required() else f"`{field.default}`"
        yield f"| `{option}` | {default} | {field.description} |"
    shared = {*CONNECTION_OPTIONS, "stream"}
    parts = {
        "Reads: batch and streaming": [
            each for each in READ_OPTIONS if each not in {*shared, *DECODE_OPTIONS, *STREAMING_OPTIONS}
        ],
        "Streaming reads": list(STREAMING_OPTIONS),
        "Events as columns": [each for each in DECODE_OPTIONS if each not in CHANGE_OPTIONS],
        "Change events of Debezium": list(CHANGE_OPTIONS),
        "Writes": [each for each in WRITE_OPTIONS if each not in {*shared, *ENCODE_OPTIONS}],
        "Columns as events": [each for each in ENCODE_OPTIONS if each not in DECODE_OPTIONS],
    }
    for title, options in parts.items():
        known = of_writes if title in {"Writes", "Columns as events"} else of_reads
        yield from ("", f"## {title}", *rows(options, known))

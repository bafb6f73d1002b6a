"""The page at the end, `build/demo/index.html`: what was read from where to where, the gate's verdicts, every step.

It loads nothing but the picture beside it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from example_dags.demo.progress import Step
from jinja2 import Environment, FileSystemLoader, StrictUndefined

_TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True)
class Read:
    """A range that something read.

    Attributes:
        by: what read it.
        start: bytes of the stream before the range.
        end: bytes of the stream before the range's end.
        events: how many events it has.
        digest: SHA-256 of the rows.
    """

    by: str
    start: int
    end: int
    events: int
    digest: str


def write_page(
    folder: Path,
    *,
    stream: str,
    length: int,
    reads: Sequence[Read],
    verdicts: Sequence[Mapping[str, Any]],
    numbers: Mapping[str, str],
    steps: Sequence[Step],
    code: Mapping[str, str],
) -> Path:
    """Write the page beside the demo's files; returns its path.

    Args:
        folder: where to.
        stream: the stream that was read.
        length: its bytes.
        reads: the ranges, in the order in which they were read.
        verdicts: results of gates, as `PravegaSchemaGateOperator` gives them.
        numbers: what was counted at the end.
        steps: all steps.
        code: what is shown, and the file that does it, relative to the repository.
    """
    environment = Environment(loader=FileSystemLoader(_TEMPLATES), autoescape=True, undefined=StrictUndefined)
    page = folder / "index.html"
    text = environment.get_template("index.html").render(
        stream=stream, length=length, reads=reads, verdicts=verdicts, numbers=numbers, steps=steps, code=code
    )
    page.write_text(text, encoding="utf-8")
    return page

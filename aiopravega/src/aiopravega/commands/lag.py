"""The command `pravega lag`: one table of all readers of some scopes, with the bytes that each has not read.

`pravega metrics` has the same numbers.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from aiopravega.client import PravegaClient
from aiopravega.commands.common import SCOPES, Options, scopes_of, show, table, verb
from aiopravega.errors import StreamMadeAgainError
from aiopravega.intervals.reports.gauges import Sample, gauges

# Labels that tell the kind of a number.
_KINDS: Final = ("group", "consumer")
_LAGS: Final = ("pravega_reader_group_lag_bytes", "pravega_consumer_lag_bytes", "pravega_stream_readable_bytes")
_TRUNCATED: Final = "retention has removed events that it has not read"
_MADE_AGAIN: Final = "its stream was deleted and made again: it skips that by `pravega cuts skip`"
_GROUP_MADE_AGAIN: Final = "a stream of it was deleted and made again: `pravega groups delete`, and make it again"


@dataclass(slots=True)
class _Line:
    """The numbers of one reader of one stream; `stream` is empty if it is not known."""

    stream: str
    kind: str
    name: str
    lag_bytes: int | None = None
    unread_bytes: int | None = None
    waiting_intervals: int | None = None
    notes: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        return {
            "stream": self.stream or None,
            "kind": self.kind,
            "name": self.name or None,
            "lag_bytes": self.lag_bytes,
            "unread_bytes": self.unread_bytes,
            "waiting_intervals": self.waiting_intervals,
            "notes": self.notes,
        }

    def to_row(self) -> tuple[object, ...]:
        sizes = ("" if size is None else f"{size:,}" for size in (self.lag_bytes, self.unread_bytes))
        waiting = [f"{self.waiting_intervals} intervals wait"] if self.waiting_intervals else []
        return self.stream, self.kind, self.name, *sizes, "; ".join(waiting + self.notes)


@verb(None, "lag", SCOPES)
async def command(client: PravegaClient, options: Options) -> int:
    """Show what consumers of the cut ledger, reader groups and subscribers have not read yet."""
    samples = [sample for scope in scopes_of(client, options.scopes) for sample in await gauges(client, scope)]
    lines = _lines(samples)
    text = table(("stream", "who", "name", "lag", "unread", "note"), [line.to_row() for line in lines])
    lost = any(sample.value for sample in samples if sample.gauge in _NOTES)
    return show(options, [line.to_json() for line in lines], text, yes=not lost)


_NOTES: Final[Mapping[str, str]] = {
    "pravega_reader_group_truncated": _TRUNCATED,
    "pravega_consumer_lost": _TRUNCATED,
    "pravega_consumer_stream_made_again": _MADE_AGAIN,
    "pravega_unknown": "cannot be found out now",
}


def _lines(samples: Iterable[Sample]) -> list[_Line]:
    lines: dict[tuple[str, str, str], _Line] = {}
    held_up = {}
    for sample in samples:
        if sample.gauge == "pravega_reader_group_needs_checkpoint" and sample.value:
            held_up[_name(sample)] = f"waits at a scaling: pravega groups checkpoint {_name(sample)}"
        if sample.gauge.startswith("pravega_reader_group_") and "stream" not in sample.labels:
            continue
        key = (_stream(sample), next((kind for kind in _KINDS if kind in sample.labels), "stream"), _name(sample))
        line = lines.setdefault(key, _Line(*key))
        if sample.gauge in _LAGS:
            line.lag_bytes = sample.value
        elif sample.gauge == "pravega_reader_group_unread_bytes":
            line.unread_bytes = sample.value
        elif sample.gauge == "pravega_consumer_waiting_intervals":
            line.waiting_intervals = sample.value
        elif sample.gauge in _NOTES and sample.value:
            line.notes.append(_note(sample))
    for line in lines.values():
        if _MADE_AGAIN in line.notes:
            line.notes.remove(_TRUNCATED)  # all of the deleted stream is lost, and not by retention
        line.notes += [held_up[line.name]] if line.kind == "group" and line.name in held_up else []
    order = ("stream", "consumer", "group")
    return sorted(lines.values(), key=lambda line: (line.stream, order.index(line.kind), line.name))


def _stream(sample: Sample) -> str:
    stream = sample.labels.get("stream", "")
    # A group's stream may be in another scope, so its label has the full name.
    return stream if not stream or "/" in stream else f"{sample.labels['scope']}/{stream}"


def _name(sample: Sample) -> str:
    group = sample.labels.get("group")
    return sample.labels.get("consumer", "") if group is None else f"{sample.labels['scope']}/{group}"


def _note(sample: Sample) -> str:
    error = sample.labels.get("error", "")
    if "group" in sample.labels and error == StreamMadeAgainError.__name__:
        return _GROUP_MADE_AGAIN
    return f"{_NOTES[sample.gauge]}{f': {error}' if error else ''}"

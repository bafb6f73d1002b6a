"""The first events of a write, for its materialization: few, shortened, and only on request."""

from typing import Any, Final

from dagster import MetadataValue

from aiopravega import StreamCutRange, StreamName
from aiopravega.blocking import PravegaClient

PREVIEW_KEY: Final = "pravega/preview"
# The most bytes of one event, and of all together: Dagster stores metadata in its database.
_EVENT_BYTES: Final = 200
_ALL_BYTES: Final = 4096


def preview(client: PravegaClient, cuts: StreamCutRange, stream: StreamName, most: int) -> dict[str, Any]:
    """Metadata with up to `most` events of a range, shortened; none if `most` is 0.

    Raises:
        PravegaError: the range cannot be read.
    """
    if most < 1:
        return {}
    lines: list[str] = []
    size = 0
    events = client.read(cuts, stream)
    try:
        for event in events:
            text = _shown(event.data)
            size += len(text)
            if len(lines) == most or size > _ALL_BYTES:
                break
            lines.append(text)
    finally:
        events.close()
    # Indented, so that Dagster does not read an event as markup.
    return {PREVIEW_KEY: MetadataValue.md("\n".join(f"    {line}" for line in lines))} if lines else {}


def _shown(data: bytes) -> str:
    text = data[:_EVENT_BYTES].decode(errors="backslashreplace")
    text = "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text)
    return text if len(data) <= _EVENT_BYTES else f"{text}… ({len(data):,} bytes)"

"""The offsets of streaming queries: a StreamCut for each stream, as Spark keeps them in its checkpoints.

As JSON an offset has the cuts' texts by the names of their streams, and a version: `{"version": 1, "examples/a": "…"}`.
The offset of the first micro-batch also has the cuts at which the query began, under `began_at`: Spark does not keep
them, and asks for them again when it repeats that batch after a crash, when `latest` is another cut.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from aiopravega.cuts import StreamCut
from aiopravega.errors import ConfigurationError, InvalidStreamCutError
from aiopravega.names import StreamName

# Not the name of a stream, which has a slash.
_BEGAN_AT: Final = "began_at"
_VERSION: Final = "version"
_KNOWN: Final = 1

Json = Mapping[str, Any]
Cuts = Mapping[StreamName, StreamCut]


@dataclass(frozen=True, slots=True)
class Offset:
    """The position of a query in each stream; at the end of its first batch, also the cuts at which it began."""

    cuts: Cuts
    began_at: Cuts | None = None

    def to_json(self) -> dict[str, Any]:
        """The offset as JSON for Spark's checkpoint."""
        texts: dict[str, Any] = {_VERSION: _KNOWN, **_texts(self.cuts)}
        return texts if self.began_at is None else texts | {_BEGAN_AT: _texts(self.began_at)}

    @classmethod
    def from_json(cls, value: Json, streams: tuple[StreamName, ...]) -> Self:
        """Read an offset from Spark's checkpoint.

        Args:
            value: the JSON of `to_json`, maybe of an earlier run of the query.
            streams: the streams that the query reads now.

        Raises:
            ConfigurationError: the offset is of other streams.
            InvalidStreamCutError: the value is not an offset of such a query, or is of another version.
        """
        if not isinstance(value, Mapping):
            raise InvalidStreamCutError(f"the checkpoint has {value!r:.200}, which is not an offset of such a query")
        version = value.get(_VERSION)
        if type(version) is not int or version != _KNOWN:
            raise InvalidStreamCutError(
                f"the checkpoint has the offset {dict(value)!r:.200}, of "
                + ("no version" if version is None else f"version {version!r}")
                + f": it is of another source or release, and this one reads version {_KNOWN}. Use that release, or "
                "give the query a checkpointLocation of its own"
            )
        rest = {name: text for name, text in value.items() if name not in (_VERSION, _BEGAN_AT)}
        began_at = value.get(_BEGAN_AT)
        return cls(_cuts(rest, streams), None if began_at is None else _cuts(began_at, streams))


def _texts(cuts: Cuts) -> dict[str, str]:
    return {str(stream): cut.to_text() for stream, cut in cuts.items()}


def _cuts(value: object, streams: tuple[StreamName, ...]) -> Cuts:
    if not isinstance(value, Mapping) or not all(isinstance(text, str) for text in value.values()):
        raise InvalidStreamCutError(
            f"the checkpoint has the offset {value!r:.200}, which is not one of a query of Pravega: give the query a "
            "checkpointLocation of its own"
        )
    names = {str(stream): stream for stream in streams}
    if value.keys() != names.keys():
        before, now = ", ".join(sorted(value)), ", ".join(sorted(names))
        raise ConfigurationError(
            f"the checkpoint is of a query of {before or 'no streams'}, but {now} are to be read: name the "
            "same streams as before, or give the query a new checkpointLocation"
        )
    cuts = {names[name]: StreamCut.from_text(text) for name, text in value.items()}
    for stream, cut in cuts.items():
        if cut.stream != stream:
            raise InvalidStreamCutError(f"the checkpoint has a cut of {cut.stream} as the offset of {stream}")
    return cuts

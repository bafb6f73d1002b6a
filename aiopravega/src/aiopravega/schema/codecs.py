"""How payloads are compressed, by the names that the registry gives to codecs.

The Java serializers compress their whole buffer, so what comes out may end in zero bytes that do not belong to the
event; formats have to bear that. What is written here is compressed exactly.
"""

import zlib
from dataclasses import dataclass
from typing import Final, Protocol

from aiopravega.errors import CodecNotRegisteredError, MalformedEventError
from aiopravega.schema import snappy

NONE: Final = ""
GZIP: Final = "application/x-gzip"
SNAPPY: Final = "application/x-snappy-framed"
# Of a payload. Events have 8 MiB at most; one that grows to many times that is an attack, or a mistake.
LARGEST_PAYLOAD: Final = 64 * 1024 * 1024
_GZIP_WINDOW: Final = 16 + zlib.MAX_WBITS  # with gzip's header


class Codec(Protocol):
    """Compresses payloads."""

    def compress(self, payload: bytes) -> bytes:
        """The compressed form."""

    def decompress(self, payload: bytes, limit: int = LARGEST_PAYLOAD) -> bytes:
        """The original form.

        Raises:
            MalformedEventError: it is not compressed by this codec, or longer than `limit` bytes.
        """


@dataclass(frozen=True, slots=True)
class NoCodec:
    """Payloads as they are."""

    def compress(self, payload: bytes) -> bytes:
        """The same."""
        return payload

    def decompress(self, payload: bytes, limit: int = LARGEST_PAYLOAD) -> bytes:
        """The same."""
        return payload


@dataclass(frozen=True, slots=True)
class GzipCodec:
    """Gzip."""

    def compress(self, payload: bytes) -> bytes:
        """One gzip member."""
        packer = zlib.compressobj(wbits=_GZIP_WINDOW)
        return packer.compress(payload) + packer.flush()

    def decompress(self, payload: bytes, limit: int = LARGEST_PAYLOAD) -> bytes:
        """The first gzip member."""
        unpacker = zlib.decompressobj(_GZIP_WINDOW)
        try:
            data = unpacker.decompress(payload, limit + 1)
        except zlib.error as error:
            raise MalformedEventError(f"it is not gzip: {error}") from None
        if len(data) > limit:
            raise MalformedEventError(f"it unpacks to more than the limit of {limit} bytes")
        if not unpacker.eof:
            raise MalformedEventError("its gzip data is cut off")
        return data


@dataclass(frozen=True, slots=True)
class SnappyCodec:
    """Snappy's raw blocks."""

    def compress(self, payload: bytes) -> bytes:
        """A legal block, not a smaller one."""
        return snappy.compress(payload)

    def decompress(self, payload: bytes, limit: int = LARGEST_PAYLOAD) -> bytes:
        """The content of a block."""
        return snappy.decompress(payload, limit)


_codecs: dict[str, Codec] = {NONE: NoCodec(), GZIP: GzipCodec(), SNAPPY: SnappyCodec()}


def register_codec(name: str, codec: Codec) -> None:
    """Use a codec for a name of the registry, in this process; it replaces one that has the name."""
    _codecs[name] = codec


def codec_named(name: str) -> Codec:
    """The codec of a name.

    Raises:
        CodecNotRegisteredError: none was registered.
    """
    try:
        return _codecs[name]
    except KeyError:
        raise CodecNotRegisteredError(
            f"no codec is known for {name!r}: known are {', '.join(sorted(_codecs, key=str) or '')!r}; "
            "register it with aiopravega.schema.register_codec"
        ) from None

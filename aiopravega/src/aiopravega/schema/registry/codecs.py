"""The registry's frame of an event: the header with the encoding id, and codecs of payloads by their names.

The header has five bytes: a protocol byte, then the encoding id, which names a schema and a codec of one group; only
the registry knows which. Events of other programs may have no header.

The Java serializers compress their whole buffer. An unpacked payload may therefore end in zero bytes that are not part
of the event; formats must accept them. The codecs here compress the payload alone.
"""

import struct
import zlib
from dataclasses import dataclass
from importlib import import_module
from typing import Final, Protocol

from aiopravega.errors import CodecNotRegisteredError, MalformedEventError
from aiopravega.sizes import LARGEST_PAYLOAD

NONE: Final = ""
GZIP: Final = "application/x-gzip"
SNAPPY: Final = "application/x-snappy-framed"
LZ4: Final = "application/x-lz4"  # the media type of LZ4's frames; the Java serializers bring no codec of this name
_BY_ARROW: Final = {
    SNAPPY: ("aiopravega.schema.arrow.snappy", "SnappyCodec"),
    LZ4: ("aiopravega.schema.arrow.lz4", "Lz4Codec"),
}
_GZIP_WINDOW: Final = 16 + zlib.MAX_WBITS  # with gzip's header
PROTOCOL: Final = 1  # version of the header, the only one so far
_LAYOUT: Final = struct.Struct(">Bi")
HEADER_BYTES: Final = _LAYOUT.size


def header(encoding_id: int) -> bytes:
    """The header of an encoding id."""
    return _LAYOUT.pack(PROTOCOL, encoding_id)


def split_header(event: bytes) -> tuple[int | None, bytes]:
    """The encoding id of an event and its payload; None and the whole event if it has no header."""
    if len(event) < HEADER_BYTES or event[0] != PROTOCOL:
        return None, event
    return _LAYOUT.unpack_from(event)[1], event[HEADER_BYTES:]


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


_codecs: dict[str, Codec] = {NONE: NoCodec(), GZIP: GzipCodec()}


def register_codec(name: str, codec: Codec) -> None:
    """Use a codec for a name of the registry, in this process; it replaces an earlier codec of that name."""
    _codecs[name] = codec


def codec_named(name: str) -> Codec:
    """The codec of a name.

    Raises:
        CodecNotRegisteredError: none was registered.
    """
    if name in _BY_ARROW and name not in _codecs:
        _codecs[name] = _by_arrow(name)
    try:
        return _codecs[name]
    except KeyError:
        raise CodecNotRegisteredError(
            f"no codec is known for {name!r}: known are {', '.join(sorted({*_codecs, *_BY_ARROW} - {NONE}))}; "
            "register it with aiopravega.schema.register_codec"
        ) from None


def _by_arrow(name: str) -> Codec:
    """Arrow's codec, loaded when it is first needed: the client alone does without Arrow."""
    module, kind = _BY_ARROW[name]
    try:
        codec: Codec = getattr(import_module(module), kind)()
    except ModuleNotFoundError as error:
        raise CodecNotRegisteredError(
            f"the codec {name!r} needs the package {error.name}: pip install 'aiopravega[arrow]', or register "
            "another one under this name with aiopravega.schema.register_codec"
        ) from None
    return codec

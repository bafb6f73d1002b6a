"""Codecs of payloads, by the names that the registry gives them.

The Java serializers compress their whole buffer. An unpacked payload may therefore end in zero bytes that are not part
of the event; formats must accept them. The codecs here compress the payload alone.
"""

import zlib
from dataclasses import dataclass
from importlib import import_module
from typing import Final, Protocol

from aiopravega.errors import CodecNotRegisteredError, MalformedEventError
from aiopravega.sizes import LARGEST_PAYLOAD

NONE: Final = ""
GZIP: Final = "application/x-gzip"
SNAPPY: Final = "application/x-snappy-framed"
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


_codecs: dict[str, Codec] = {NONE: NoCodec(), GZIP: GzipCodec()}


def register_codec(name: str, codec: Codec) -> None:
    """Use a codec for a name of the registry, in this process; it replaces an earlier codec of that name."""
    _codecs[name] = codec


def codec_named(name: str) -> Codec:
    """The codec of a name.

    Raises:
        CodecNotRegisteredError: none was registered.
    """
    if name == SNAPPY and name not in _codecs:
        _codecs[name] = _snappy()
    try:
        return _codecs[name]
    except KeyError:
        raise CodecNotRegisteredError(
            f"no codec is known for {name!r}: known are {', '.join(sorted({*_codecs, SNAPPY} - {NONE}))}; "
            "register it with aiopravega.schema.register_codec"
        ) from None


def _snappy() -> Codec:
    """Arrow's codec, loaded when it is first needed: the client alone does without Arrow."""
    try:
        found: Codec = import_module("aiopravega.schema.arrow.snappy").SnappyCodec()
    except ModuleNotFoundError as error:
        raise CodecNotRegisteredError(
            f"the codec {SNAPPY!r} needs the package {error.name}: pip install 'aiopravega[arrow]', or register "
            "another one under this name with aiopravega.schema.register_codec"
        ) from None
    return found

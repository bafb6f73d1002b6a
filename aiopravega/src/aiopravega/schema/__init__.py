"""Schemas of streams: the Schema Registry's client, the header of its events, codecs.

The registry's client needs the extra `schema` (httpx), whole blocks of events (`open.blocks`) the extra `arrow`.
"""

from typing import TYPE_CHECKING

from aiopravega.lazy import lazy_names

if TYPE_CHECKING:
    from aiopravega.schema.open.register import SchemaRegistry
    from aiopravega.schema.registry.codecs import (
        HEADER_BYTES,
        PROTOCOL,
        Codec,
        codec_named,
        header,
        register_codec,
        split_header,
    )
    from aiopravega.schema.registry.config import RegistryConfig
    from aiopravega.schema.registry.encodings import EncodingCache, GroupId
    from aiopravega.schema.registry.model import (
        CodecType,
        Compatibility,
        Encoding,
        FormatName,
        GroupProperties,
        GroupsPage,
        HistoryRecord,
        SchemaFormat,
        SchemaInfo,
        SchemaVersion,
        VersionInfo,
    )

__all__ = [
    "HEADER_BYTES",
    "PROTOCOL",
    "Codec",
    "CodecType",
    "Compatibility",
    "Encoding",
    "EncodingCache",
    "FormatName",
    "GroupId",
    "GroupProperties",
    "GroupsPage",
    "HistoryRecord",
    "RegistryConfig",
    "SchemaFormat",
    "SchemaInfo",
    "SchemaRegistry",
    "SchemaVersion",
    "VersionInfo",
    "codec_named",
    "header",
    "register_codec",
    "split_header",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "open.register": ("SchemaRegistry",),
        "registry.codecs": (
            "HEADER_BYTES",
            "PROTOCOL",
            "Codec",
            "codec_named",
            "header",
            "register_codec",
            "split_header",
        ),
        "registry.config": ("RegistryConfig",),
        "registry.encodings": ("EncodingCache", "GroupId"),
        "registry.model": (
            "CodecType",
            "Compatibility",
            "Encoding",
            "FormatName",
            "GroupProperties",
            "GroupsPage",
            "HistoryRecord",
            "SchemaFormat",
            "SchemaInfo",
            "SchemaVersion",
            "VersionInfo",
        ),
    },
)

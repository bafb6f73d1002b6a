"""The blocking form of the Schema Registry's client; needs the extra `schema`."""

from aiopravega import schema as aio
from aiopravega.blocking.bridge import Face, OpenFace, iterates, waits
from aiopravega.loop import LoopThread
from aiopravega.schema import RegistryConfig


class EncodingCache(Face[aio.EncodingCache]):
    """Remembers the encodings of one registry."""

    identify = waits(aio.EncodingCache.identify)
    get = waits(aio.EncodingCache.get)


class SchemaRegistry(OpenFace[aio.SchemaRegistry]):
    """A client of a Schema Registry; use it with `with`.

    A stream's group is named after the stream. `namespace` is the registry's own division; "" is the one that
    serializers use by default.
    """

    def __init__(self, config: RegistryConfig) -> None:
        async def make() -> aio.SchemaRegistry:
            return aio.SchemaRegistry(config)

        loop = LoopThread.shared()
        super().__init__(loop, loop.run(make()))
        self.config = config
        self.encodings = EncodingCache(loop, self.asynchronous.encodings)

    close = waits(aio.SchemaRegistry.close)
    ping = waits(aio.SchemaRegistry.ping)

    groups = iterates(aio.SchemaRegistry.groups)
    groups_page = waits(aio.SchemaRegistry.groups_page)
    group = waits(aio.SchemaRegistry.group)
    create_group = waits(aio.SchemaRegistry.create_group)
    delete_group = waits(aio.SchemaRegistry.delete_group)
    update_compatibility = waits(aio.SchemaRegistry.update_compatibility)
    history = waits(aio.SchemaRegistry.history)

    add_schema = waits(aio.SchemaRegistry.add_schema)
    latest = waits(aio.SchemaRegistry.latest)
    versions = waits(aio.SchemaRegistry.versions)
    schema = waits(aio.SchemaRegistry.schema)
    schema_of_version = waits(aio.SchemaRegistry.schema_of_version)
    find_version = waits(aio.SchemaRegistry.find_version)
    delete_schema = waits(aio.SchemaRegistry.delete_schema)
    delete_version = waits(aio.SchemaRegistry.delete_version)
    validate = waits(aio.SchemaRegistry.validate)
    can_read = waits(aio.SchemaRegistry.can_read)
    references = waits(aio.SchemaRegistry.references)

    codecs = waits(aio.SchemaRegistry.codecs)
    add_codec = waits(aio.SchemaRegistry.add_codec)
    encoding_id = waits(aio.SchemaRegistry.encoding_id)
    encoding = waits(aio.SchemaRegistry.encoding)

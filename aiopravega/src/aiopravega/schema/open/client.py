"""The Schema Registry's client, with two calls that compare before they send: `create_group` and `add_schema`."""

from aiopravega.schema.open.compare import Question
from aiopravega.schema.open.groups import GroupAddress, make_group
from aiopravega.schema.open.register import offer_schema
from aiopravega.schema.registry.client import RegistryClient
from aiopravega.schema.registry.model import GroupProperties, SchemaInfo, VersionInfo


class SchemaRegistry(RegistryClient):
    """An asynchronous client of a Schema Registry; use it with `async with`.

    A stream's group is named after the stream. `namespace` is the registry's own division; "" is the one that
    serializers use by default.
    """

    async def create_group(self, group: str, properties: GroupProperties, namespace: str = "") -> bool:
        """Make a group; return False if a group of that name exists, with any properties.

        For formats other than Avro the registry accepts most policies in a second request only, which is sent here: see
        `aiopravega.schema.open.groups`.

        Raises:
            ConfigurationError: there is no such policy.
            PravegaError: the registry refuses; no group is left.
        """
        return (await make_group(self, group, properties, namespace)).made

    async def add_schema(
        self, group: str, schema: SchemaInfo, namespace: str = "", *, declared_only: bool = False
    ) -> VersionInfo:
        """Add a schema to a group whose policy allows it; a schema that the group has keeps its version.

        The schema is compared here, since the server compares Avro only: see `aiopravega.schema.open.register`, which
        also makes groups. `declared_only` is for JSON: see `aiopravega.schema.open.Question`.

        Raises:
            GroupNotFoundError: there is no such group.
            SchemaRefusedError: the group's policy, format or type does not allow it; the message lists the violations.
            InvalidSchemaError: it cannot be parsed.
            ConfigurationError: the extra of the schema's format is not installed.
        """
        question = Question(declared_only=declared_only)
        address = GroupAddress(group, (namespace,))
        report = (await offer_schema(self, address, schema, question=question)).require()
        assert report.registered is not None
        return report.registered

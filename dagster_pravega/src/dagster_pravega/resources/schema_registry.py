"""The resource by which gates and catalogs reach a Schema Registry."""

from pydantic import Field

from aiopravega.blocking.registry import SchemaRegistry
from aiopravega.schema import RegistryConfig
from dagster_pravega.metadata.secured import SecuredResource


class SchemaRegistryResource(SecuredResource["SchemaRegistryResource"]):
    """A Schema Registry: its address, and the credentials.

    An address that is not given comes from the environment (`PRAVEGA_SCHEMA_REGISTRY_URI`). Give secrets as
    `dagster.EnvVar`. It needs the extra `schema` of aiopravega.
    """

    uri: str | None = Field(default=None, description="http://host:port, or https://host:port")
    ca_file: str | None = Field(
        default=None, description="PEM file of the certificate authority, for https://; default the system's"
    )
    verify_hostname: bool = Field(default=True, description="check that the server's certificate contains its name")

    def get_config(self) -> RegistryConfig:
        """The configuration of the client.

        Raises:
            ConfigurationError: a field is not valid, or there is no address.
        """
        return RegistryConfig(**{name: getattr(self, name) for name in type(self).model_fields})

    @property
    def registry(self) -> SchemaRegistry:
        """The blocking client of this run; do not close it."""
        if self._opened is None:
            self._opened = SchemaRegistry(self.get_config())
        opened: SchemaRegistry = self._opened
        return opened

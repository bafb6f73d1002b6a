"""The resource through which gates and catalogs reach a Schema Registry."""

from typing import Any, Final

from dagster import ConfigurableResource, InitResourceContext
from pydantic import Field, PrivateAttr

from aiopravega.blocking.registry import SchemaRegistry
from aiopravega.schema import RegistryConfig
from dagster_pravega.failures import failing_for_good

# Dagster's own mark for fields whose values its pages hide.
_SECRET: Final[dict[str, Any]] = {"dagster__is_secret": True}


class SchemaRegistryResource(ConfigurableResource["SchemaRegistryResource"]):
    """A Schema Registry: its address, and as whom to reach it.

    An address that is not given comes from the environment (`PRAVEGA_SCHEMA_REGISTRY_URI`). Give secrets as
    `dagster.EnvVar`. It needs the extra `schema` of aiopravega.
    """

    uri: str | None = Field(default=None, description="http://host:port, or https://host:port")
    username: str | None = Field(default=None, description="name for Basic authentication, together with the password")
    password: str | None = Field(
        default=None, description="password for Basic authentication", repr=False, json_schema_extra=_SECRET
    )
    token: str | None = Field(
        default=None,
        description="token for Bearer authentication, instead of name and password",
        repr=False,
        json_schema_extra=_SECRET,
    )
    ca_file: str | None = Field(
        default=None, description="PEM file of the certificate authority, for https://; default the system's"
    )
    verify_hostname: bool = Field(default=True, description="check that the server's certificate bears its name")

    _registry: SchemaRegistry | None = PrivateAttr(default=None)

    def setup_for_execution(self, context: InitResourceContext) -> None:
        """Check the configuration; called by Dagster.

        Raises:
            Failure: it cannot work.
        """
        with failing_for_good():
            self.get_config()

    def teardown_after_execution(self, context: InitResourceContext) -> None:
        """Close the connections; called by Dagster."""
        self.close()

    def close(self) -> None:
        """Close the connections; the next call opens them again."""
        registry, self._registry = self._registry, None
        if registry is not None:
            registry.close()

    def get_config(self) -> RegistryConfig:
        """The configuration of the client.

        Raises:
            ConfigurationError: it cannot work, or there is no address.
        """
        return RegistryConfig(**{name: getattr(self, name) for name in type(self).model_fields})

    @property
    def registry(self) -> SchemaRegistry:
        """The blocking client of this run; do not close it."""
        if self._registry is None:
            self._registry = SchemaRegistry(self.get_config())
        return self._registry

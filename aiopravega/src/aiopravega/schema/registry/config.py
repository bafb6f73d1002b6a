"""Address and credentials of a Schema Registry."""

import os
from typing import Any, ClassVar, Final, Self

from pydantic import Field, field_validator

from aiopravega.addresses import parse_addresses, split_scheme
from aiopravega.config import PravegaConfig
from aiopravega.credentials import ServerConfig
from aiopravega.errors import ConfigurationError

URI_VARIABLE: Final = "PRAVEGA_SCHEMA_REGISTRY_URI"
_PORTS: Final = {"http": 80, "https": 443}
_HINT: Final = "write http://host:port, or https://host:port; an IPv6 address in brackets"


class RegistryConfig(ServerConfig):
    """Address, credentials and time limits of a Schema Registry. Times are in seconds.

    Raises:
        ConfigurationError: a value cannot work; the message names it and the remedy.
    """

    _subject: ClassVar[str] = "the Schema Registry"
    _encrypted: ClassVar[str] = "https"

    uri: str = Field(description="http://host:port, or https://host:port")
    connect_timeout: float = Field(5.0, gt=0, description="limit for opening one connection")
    request_timeout: float = Field(10.0, gt=0, description="limit for the answer to one request")
    retry_timeout: float = Field(20.0, ge=0, description="how long failures that can pass are tried again")

    def __init__(self, **values: Any) -> None:
        if not values.get("uri"):
            values["uri"] = os.environ.get(URI_VARIABLE)
        if not values["uri"]:
            raise ConfigurationError(f"the address of the Schema Registry is missing: give it, or set {URI_VARIABLE}")
        super().__init__(**values)

    @classmethod
    def beside(cls, pravega: PravegaConfig, uri: str | None = None) -> Self:
        """The registry of a cluster, with the cluster's credentials and certificate authority.

        Raises:
            ConfigurationError: a value cannot work, or no address is given or in the environment.
        """
        address = uri or os.environ.get(URI_VARIABLE)
        return cls(
            uri=address,
            username=pravega.username,
            password=pravega.password,
            token=pravega.token,
            token_source=pravega.token_source,
            ca_file=pravega.ca_file if (address or "").startswith("https:") else None,
            verify_hostname=pravega.verify_hostname,
        )

    @field_validator("uri")
    @classmethod
    def _check_uri(cls, uri: str) -> str:
        scheme, rest = split_scheme(uri, _PORTS, _HINT)
        servers, slash, path = rest.rstrip("/").partition("/")
        addresses = parse_addresses(servers, _HINT, _PORTS[scheme])
        if len(addresses) > 1:
            raise ValueError(
                f"{uri!r} has several servers, and a registry has one: give the address before all of them"
            )
        return f"{scheme}://{addresses[0]}{slash}{path}"

    @property
    def address(self) -> str:
        """The registry's address."""
        return self.uri

    @property
    def tls(self) -> bool:
        """True if connections are encrypted."""
        return self.uri.startswith("https:")

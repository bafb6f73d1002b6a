"""How to reach a Schema Registry, and as whom."""

import os
import ssl
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator, model_validator

from aiopravega.config import PravegaConfig
from aiopravega.credentials import authorization, client_context
from aiopravega.errors import ConfigurationError

URI_VARIABLE: Final = "PRAVEGA_SCHEMA_REGISTRY_URI"
_SCHEMES: Final = ("http", "https")


class RegistryConfig(BaseModel):
    """Address, credentials and time limits of a Schema Registry. Times are in seconds.

    Raises:
        ConfigurationError: a value cannot work; the message names it and the remedy.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    uri: str = Field(description="http://host:port, or https://host:port")
    username: str | None = Field(None, description="for Basic authentication, together with the password")
    password: SecretStr | None = Field(None, description="for Basic authentication")
    token: SecretStr | None = Field(None, description="for Bearer authentication, instead of a username")
    ca_file: str | None = Field(None, description="PEM file of the certificate authority, for https://")
    verify_hostname: bool = Field(True, description="check that the server's certificate bears its name")
    connect_timeout: float = Field(5.0, gt=0, description="limit for opening one connection")
    request_timeout: float = Field(10.0, gt=0, description="limit for the answer to one request")
    retry_timeout: float = Field(20.0, ge=0, description="how long failures that can pass are tried again")

    def __init__(self, **values: Any) -> None:
        if not values.get("uri"):
            values["uri"] = os.environ.get(URI_VARIABLE)
        if not values["uri"]:
            raise ConfigurationError(f"the address of the Schema Registry is missing: give it, or set {URI_VARIABLE}")
        try:
            super().__init__(**values)
        except ValidationError as error:
            problems = "; ".join(
                f"{'.'.join(str(part) for part in problem['loc']) or 'configuration'}: {problem['msg']}"
                for problem in error.errors(include_input=False)
            )
            raise ConfigurationError(f"the configuration of the Schema Registry cannot work: {problems}") from None

    @classmethod
    def beside(cls, pravega: PravegaConfig, uri: str | None = None) -> Self:
        """The registry of a cluster, with the cluster's credentials and certificate authority.

        Raises:
            ConfigurationError: it cannot work, or no address is given or in the environment.
        """
        address = uri or os.environ.get(URI_VARIABLE)
        return cls(
            uri=address,
            username=pravega.username,
            password=pravega.password,
            token=pravega.token,
            ca_file=pravega.ca_file if (address or "").startswith("https:") else None,
            verify_hostname=pravega.verify_hostname,
        )

    @field_validator("uri")
    @classmethod
    def _check_uri(cls, uri: str) -> str:
        split = urlsplit(uri)
        if split.scheme not in _SCHEMES or not split.hostname:
            raise ValueError(f"{uri!r} is no address: write http://host:port, or https://host:port")
        if split.username or split.password:
            raise ValueError("credentials do not belong into the address: give username and password")
        return uri.rstrip("/")

    @model_validator(mode="after")
    def _check_together(self) -> Self:
        if (self.username is None) != (self.password is None):
            raise ValueError("username and password go together")
        if self.username is not None and self.token is not None:
            raise ValueError("give either username and password, or a token")
        if self.ca_file is not None and not self.tls:
            raise ValueError(f"ca_file is for https://, but the address is {self.uri!r}")
        if self.ca_file is not None and not Path(self.ca_file).is_file():
            raise ValueError(f"the CA file {self.ca_file!r} does not exist")
        return self

    @property
    def tls(self) -> bool:
        """Whether connections are encrypted."""
        return self.uri.startswith("https:")

    def authorization(self) -> str | None:
        """The value of the header `Authorization`; a secret: never log it."""
        return authorization(self.username, self.password, self.token)

    def ssl_context(self) -> ssl.SSLContext | None:
        """TLS settings, or None for plain HTTP.

        Raises:
            TlsError: the CA file is not a PEM file of certificates.
        """
        return client_context(self.ca_file, self.verify_hostname) if self.tls else None

"""Address of a Pravega cluster and credentials: one immutable value for clients, Spark options and connections.

Values that are not given come from the environment (`PRAVEGA_CONTROLLER_URI`, `PRAVEGA_SCOPE`, …), as in Pravega's own
connectors. This module opens no connection.
"""

import os
from collections.abc import Mapping
from typing import Any, ClassVar, Self

from pydantic import Field, field_validator

from aiopravega.addresses import Address, parse_addresses, split_scheme
from aiopravega.credentials import ServerConfig
from aiopravega.names import check_name
from aiopravega.sizes import LARGEST_EVENT

DEFAULT_CONTROLLER_URI = "tcp://localhost:9090"
ENVIRONMENT_PREFIX = "PRAVEGA_"
_SCHEMES = {"tcp": False, "pravega": False, "tls": True, "ssl": True, "pravegas": True}
_HINT = "write tcp://host:port, or tls://host:port; an IPv6 address in brackets; commas between several controllers"
# The ways to say who the client is: of the ways that are not given, nothing is taken from the environment.
_IDENTITIES = (("username", "password"), ("token",), ("token_source",))
_ENVIRONMENT_FIELDS = (
    "controller_uri",
    "scope",
    "username",
    "password",
    "token",
    "token_source",
    "ca_file",
    "verify_hostname",
    "max_event_bytes",
)


class PravegaConfig(ServerConfig):
    """Address, credentials and time limits. Times are in seconds.

    Raises:
        ConfigurationError: a value cannot work; the message names it and the remedy.
    """

    _subject: ClassVar[str] = "Pravega"
    _encrypted: ClassVar[str] = "tls"

    controller_uri: str = Field(
        DEFAULT_CONTROLLER_URI, description="tcp://host:port, or tls://host:port; several controllers with commas"
    )
    scope: str | None = Field(None, description="scope of stream names that are given without one")
    connect_timeout: float = Field(10.0, gt=0, description="limit for opening one connection")
    request_timeout: float = Field(30.0, gt=0, description="limit for the answer to one request")
    retry_timeout: float = Field(60.0, ge=0, description="how long to try again after failures that can pass")
    max_event_bytes: int = Field(
        LARGEST_EVENT, gt=0, le=LARGEST_EVENT, description="the longest event that a reader accepts, without its header"
    )

    def __init__(self, **values: Any) -> None:
        given = [way for way in _IDENTITIES if any(values.get(name) is not None for name in way)]
        others = {name for way in _IDENTITIES if given and way not in given for name in way}
        for name in _ENVIRONMENT_FIELDS:
            text = os.environ.get(ENVIRONMENT_PREFIX + name.upper())
            if text and name not in others:
                values.setdefault(name, text)
        super().__init__(**values)

    @classmethod
    def from_options(cls, options: Mapping[str, str], names: Mapping[str, str]) -> Self:
        """Build a configuration from a host's own options (Spark's, a connection's extras).

        `names` maps a host's option to the field here; options that are absent or empty keep their defaults.
        """
        return cls(**{field: options[option] for option, field in names.items() if options.get(option)})

    @field_validator("controller_uri")
    @classmethod
    def _check_uri(cls, uri: str) -> str:
        scheme, rest = split_scheme(uri, _SCHEMES, _HINT)
        return f"{scheme}://{','.join(map(str, parse_addresses(rest.removesuffix('/'), _HINT)))}"

    @field_validator("scope")
    @classmethod
    def _check_scope(cls, scope: str | None) -> str | None:
        return None if scope is None else check_name("scope", scope)

    @property
    def address(self) -> str:
        """The controller's URI."""
        return self.controller_uri

    @property
    def tls(self) -> bool:
        """True if every connection is encrypted."""
        return _SCHEMES[self.controller_uri.partition("://")[0]]

    @property
    def controller_target(self) -> str:
        """`host:port` of the controller, or of several with commas between them."""
        return self.controller_uri.partition("://")[2]

    @property
    def controllers(self) -> list[Address]:
        """The controllers of the cluster: the first that answers is asked."""
        return parse_addresses(self.controller_target, _HINT)

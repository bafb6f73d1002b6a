"""Credentials and trusted certificates, for the configurations of Pravega and of the Schema Registry."""

import base64
import shlex
import ssl
import sys
from abc import abstractmethod
from pathlib import Path
from typing import Any, ClassVar, Final, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator, model_validator

from aiopravega.errors import ConfigurationError, TlsError

# The kinds of `token_source`, and what follows the colon.
TOKEN_KINDS: Final = {
    "file": "PATH",
    "command": "PROGRAM ARGUMENTS",
    "function": "MODULE:NAME",
    "keycloak": "PATH of keycloak.json",
    "oauth2": "PATH of a JSON file",
}
# Kinds that run code of others where the client is.
TOKEN_PROGRAMS: Final = frozenset({"command", "function"})


class ServerConfig(BaseModel):
    """Credentials for a server, and the certificates that the client trusts.

    Raises:
        ConfigurationError: a value cannot work; the message names it and the remedy.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)
    # The server's name in messages, and the scheme of encrypted addresses.
    _subject: ClassVar[str]
    _encrypted: ClassVar[str]

    username: str | None = Field(None, description="for Basic authentication, together with the password")
    password: SecretStr | None = Field(None, description="for Basic authentication")
    token: SecretStr | None = Field(None, description="for Bearer authentication, instead of a username")
    token_source: str | None = Field(
        None, description="where a token that ends comes from: file:, command:, function:, keycloak: or oauth2:"
    )
    ca_file: str | None = Field(None, description="PEM file of the certificate authority, if connections are encrypted")
    verify_hostname: bool = Field(True, description="check that the server's certificate contains the server's name")

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            problems = "; ".join(
                f"{'.'.join(str(part) for part in problem['loc']) or 'configuration'}: {problem['msg']}"
                for problem in error.errors(include_input=False)
            )
            raise ConfigurationError(f"the configuration of {self._subject} cannot work: {problems}") from None

    @field_validator("token_source", mode="before")
    @classmethod
    def _name_function(cls, source: Any) -> Any:
        if not callable(source):
            return source
        module, name = getattr(source, "__module__", None), getattr(source, "__qualname__", "")
        if not name.isidentifier() or getattr(sys.modules.get(str(module)), name, None) is not source:
            raise ValueError(
                "this function has no name by which another process finds it: define it with def in a module, outside "
                "of classes and functions"
            )
        return f"function:{module}:{name}"

    @field_validator("token_source")
    @classmethod
    def _check_source(cls, source: str | None) -> str | None:
        if source is None:
            return None
        kind, _, reference = (part.strip() for part in source.partition(":"))
        forms = ", ".join(f"{name}:{form}" for name, form in TOKEN_KINDS.items())
        if kind not in TOKEN_KINDS:  # it is not shown: it may be the token itself
            raise ValueError(f"it does not say where the token comes from: write one of {forms}")
        if not reference and kind != "keycloak":
            raise ValueError(f"{kind}: names nothing: write {kind}:{TOKEN_KINDS[kind]}")
        module, colon, name = reference.partition(":")
        if kind == "function" and not (colon and all(part.isidentifier() for part in [*module.split("."), name])):
            raise ValueError(f"{source!r} names no function: write function:{TOKEN_KINDS[kind]}")
        if kind == "command":
            try:
                shlex.split(reference)
            except ValueError as error:
                raise ValueError(f"the command cannot be divided into words: {error}") from None
        return f"{kind}:{reference}"

    @model_validator(mode="after")
    def _check_together(self) -> Self:
        if (self.username is None) != (self.password is None):
            raise ValueError("username and password go together")
        if sum(way is not None for way in (self.username, self.token, self.token_source)) > 1:
            raise ValueError("give either username and password, or a token, or a token_source")
        if self.username is not None and ":" in self.username:
            raise ValueError("a username cannot contain ':'")
        if self.ca_file is not None and not self.tls:
            raise ValueError(f"ca_file is for {self._encrypted}://, but the address is {self.address!r}")
        if self.ca_file is not None and not Path(self.ca_file).is_file():
            raise ValueError(f"the CA file {self.ca_file!r} does not exist")
        return self

    @property
    @abstractmethod
    def address(self) -> str:
        """The server's address."""

    @property
    @abstractmethod
    def tls(self) -> bool:
        """True if connections are encrypted."""

    @property
    def has_credentials(self) -> bool:
        """True if the client says who it is."""
        return any(way is not None for way in (self.username, self.token, self.token_source))

    def refusal(self) -> str:
        """The meaning of a server's answer that it does not know these credentials, and what to do; without secrets."""
        if self.username is not None:
            return (
                f"the password of account {self.username!r} is wrong, or there is no such account: check username and "
                "password"
            )
        if self.token is not None:
            return (
                "the token is refused: it may have ended, or the server takes username and password only. A token that "
                "ends needs token_source, by which the client gets the next one"
            )
        if self.token_source is not None:
            kind = self.token_source.partition(":")[0]
            return (
                f"the token of token_source ({kind}) is refused, and asking there again gave the same one, or one that "
                "is refused as well: check what gives it, and whether the server takes it or username and password only"
            )
        return "the server asks for credentials and there are none: give username and password, or a token"

    def authorization(self) -> str | None:
        """The value of an `Authorization` header, Bearer or Basic; None without fixed credentials.

        A secret: never log it. The tokens of `token_source` come from `aiopravega.net.Authorization`.
        """
        if self.token is not None:
            return f"Bearer {self.token.get_secret_value()}"
        if self.username is None or self.password is None:
            return None
        pair = f"{self.username}:{self.password.get_secret_value()}"
        return f"Basic {base64.b64encode(pair.encode()).decode()}"

    def ssl_context(self) -> ssl.SSLContext | None:
        """TLS settings that trust the authorities of `ca_file`, by default the system's; None without TLS.

        Raises:
            TlsError: the CA file is not a PEM file of certificates.
        """
        if not self.tls:
            return None
        try:
            context = ssl.create_default_context(cafile=self.ca_file)
        except (ssl.SSLError, OSError) as error:
            raise TlsError(f"cannot read certificates from {self.ca_file}: {error}") from error
        context.check_hostname = self.verify_hostname
        return context

"""Credentials and trusted certificates, for the configurations of Pravega and of the Schema Registry."""

import base64
import ssl
from abc import abstractmethod
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, model_validator

from aiopravega.errors import ConfigurationError, TlsError


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

    @model_validator(mode="after")
    def _check_together(self) -> Self:
        if (self.username is None) != (self.password is None):
            raise ValueError("username and password go together")
        if self.username is not None and self.token is not None:
            raise ValueError("give either username and password, or a token")
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

    def authorization(self) -> str | None:
        """The value of an `Authorization` header, Bearer or Basic; None without credentials.

        A secret: never log it.
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

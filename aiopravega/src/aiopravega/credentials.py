"""What the configurations of Pravega and of the Schema Registry have in common: who asks, and whom to trust."""

import base64
import ssl

from pydantic import SecretStr

from aiopravega.errors import TlsError


def authorization(username: str | None, password: SecretStr | None, token: SecretStr | None) -> str | None:
    """The value of an `Authorization` header, Bearer before Basic; None without credentials. A secret: never log it."""
    if token is not None:
        return f"Bearer {token.get_secret_value()}"
    if username is None or password is None:
        return None
    pair = f"{username}:{password.get_secret_value()}"
    return f"Basic {base64.b64encode(pair.encode()).decode()}"


def client_context(ca_file: str | None, verify_hostname: bool) -> ssl.SSLContext:
    """TLS settings that trust the authorities in a PEM file, by default those of the system.

    Raises:
        TlsError: the file is not a PEM file of certificates.
    """
    try:
        context = ssl.create_default_context(cafile=ca_file)
    except (ssl.SSLError, OSError) as error:
        raise TlsError(f"cannot read certificates from {ca_file}: {error}") from error
    context.check_hostname = verify_hostname
    return context

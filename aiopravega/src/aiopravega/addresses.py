"""Addresses of servers, as people write them: one rule for controllers, registries and the fields of connections.

Blanks around an address and its parts do not count. An IPv6 address is in brackets where a port can follow it.
"""

import ipaddress
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from aiopravega.errors import ConfigurationError

_MAX_PORT: Final = 65535


def host_and_port(host: str, port: int) -> str:
    """`host:port`, with brackets around an IPv6 address."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


@dataclass(frozen=True, slots=True)
class Address:
    """One server: a name or an IP address without brackets, and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return host_and_port(self.host, self.port)


def split_scheme(text: str, schemes: Collection[str], hint: str) -> tuple[str, str]:
    """The scheme of a URI, and the rest without blanks around it.

    Raises:
        ConfigurationError: another scheme or none, or a user in it. The message ends with `hint`.
    """
    scheme, colon, rest = text.strip().partition("://")
    if "@" in rest:
        raise ConfigurationError("credentials must not be in the address: give username and password")
    if not colon or scheme not in schemes:
        raise ConfigurationError(f"{text!r} has the scheme {scheme if colon else ''!r}: {hint}")
    return scheme, rest.strip()


def parse_addresses(text: str, hint: str, port: int | None = None) -> list[Address]:
    """Servers with commas between them: `host:port`, `host` if there is a `port` for it, `[IPv6]:port`, `[IPv6]`.

    Raises:
        ConfigurationError: a host or a port is missing or impossible. The message ends with `hint`.
    """
    return [_parse(each.strip(), hint, port) for each in text.split(",")]


def _parse(text: str, hint: str, default: int | None) -> Address:
    if _is_ipv6(text):
        if default is None:
            raise ConfigurationError(
                f"{text!r} has no host and port that can be distinguished: put an IPv6 address in brackets, as in "
                f"tcp://[::1]:9090"
            )
        return Address(text, default)
    host, colon, number = text.rpartition(":")
    if not colon or number.endswith("]"):
        host, number = text, "" if default is None else str(default)
    host, number = host.strip(), number.strip()
    inner = host[1:-1].strip() if host.startswith("[") and host.endswith("]") else None
    possible = _is_ipv6(inner) if inner is not None else bool(host) and not set(host) & set("[]:/?#\\ \t\r\n")
    if not possible or not (number.isascii() and number.isdigit()) or not 0 < int(number) <= _MAX_PORT:
        raise ConfigurationError(f"{text!r} has no host and port: {hint}")
    return Address(host if inner is None else inner, int(number))


def _is_ipv6(text: str) -> bool:
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return True

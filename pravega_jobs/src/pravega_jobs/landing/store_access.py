"""Access to object stores for a block of code: endpoint and keys that are not in the environment.

Schedulers have them in connections and resources, and renew keys that end. What is opened in the block uses them:
tables of Delta, catalogs of Iceberg, and locations, which take them along to other processes. They are in no text.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from aiopravega.errors import ConfigurationError

ALLOW_HTTP: Final = "allow_http"
# Other names of it, as deltalake has them.
_ALLOW_HTTP: Final = frozenset(("aws_allow_http", "azure_allow_http", "google_allow_http"))
# Options of `obstore` and `deltalake`, and the properties of pyiceberg for them: of files, and of the services of AWS.
_PROPERTIES: Final[Mapping[str, tuple[str, ...]]] = {
    "aws_access_key_id": ("s3.access-key-id", "client.access-key-id"),
    "aws_secret_access_key": ("s3.secret-access-key", "client.secret-access-key"),
    "aws_session_token": ("s3.session-token", "client.session-token"),
    "aws_region": ("s3.region", "client.region"),
    "aws_endpoint_url": ("s3.endpoint",),
}
_KEY: Final = "aws_access_key_id"
_TOKEN: Final = "aws_session_token"
_KEYS: Final = (_KEY, "aws_secret_access_key", _TOKEN)


class StoreAccess:
    """Options of object stores, as `obstore` and `deltalake` name them, secrets included.

    A copy for another process has the keys of the moment when it was made.

    Args:
        read: gives the options now. It is asked whenever a table, a catalog or a client of a store is opened.
    """

    __slots__ = ("_read",)

    def __init__(self, read: Callable[[], Mapping[str, str]]) -> None:
        self._read = read

    @classmethod
    def fixed(cls, options: Mapping[str, str]) -> "StoreAccess":
        """Access by options that do not change."""
        return cls(lambda: options)

    @classmethod
    def of_catalog(cls, properties: Mapping[str, Any]) -> "StoreAccess | None":
        """Access by the properties of a catalog or a table of Iceberg; None: they name no store of S3."""
        found = {option: str(properties[names[0]]) for option, names in _PROPERTIES.items() if properties.get(names[0])}
        return cls.fixed(found) if found else None

    def options(self) -> dict[str, str]:
        """The options now; plain HTTP is allowed for an endpoint that is named so.

        Raises:
            ConfigurationError: libraries would send a token of the environment with these keys.
        """
        found = dict(self._read())
        for name in _ALLOW_HTTP.intersection(found):  # obstore takes one name only
            found.setdefault(ALLOW_HTTP, found.pop(name))
        if _KEY in found and _TOKEN not in found and os.environ.get(_TOKEN.upper()):
            raise ConfigurationError(
                f"the environment has {_TOKEN.upper()}, which deltalake and obstore would send with other keys, "
                "that it does not belong to: take it out of the environment of this process"
            )
        if found.get("aws_endpoint_url", "").startswith("http://"):
            found.setdefault(ALLOW_HTTP, "true")
        return found

    def over(self, properties: Mapping[str, Any]) -> dict[str, Any]:
        """Properties of a catalog of Iceberg with this access instead of their own, as far as it is one to S3."""
        options, found = self.options(), dict(properties)
        if options.keys() & set(_KEYS):  # a token of other keys would spoil these
            for name in (each for option in _KEYS for each in _PROPERTIES[option]):
                found.pop(name, None)
        more = {name: options[option] for option, names in _PROPERTIES.items() if option in options for name in names}
        return found | more

    def __repr__(self) -> str:
        return "StoreAccess()"

    def __reduce__(self) -> tuple[Any, ...]:
        return StoreAccess.fixed, (self.options(),)


_access: ContextVar[StoreAccess | None] = ContextVar("pravega_store_access", default=None)


@contextmanager
def accessing(access: StoreAccess | None) -> Iterator[None]:
    """Open stores by an access, while a block runs; None: as before."""
    if access is None:
        yield
        return
    token = _access.set(access)
    try:
        yield
    finally:
        _access.reset(token)


def current_access() -> StoreAccess | None:
    """The access of the innermost block; None: libraries find all by themselves."""
    return _access.get()

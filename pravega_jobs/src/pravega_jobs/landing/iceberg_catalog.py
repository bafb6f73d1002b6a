"""Catalogs of Iceberg, opened as pyiceberg is configured, with time limits for requests and errors without secrets.

This module knows no table. Its errors repeat no value of a property that may be a secret.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, Final
from urllib.parse import urlsplit

import requests
from pydantic import ValidationError
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.exceptions import (
    CommitFailedException,
    CommitStateUnknownException,
    NotInstalledError,
    RESTError,
    ServerError,
    ServiceUnavailableError,
    TooManyRequestsError,
)
from pyiceberg.table import CommitTableResponse, Table
from pyiceberg.table.update import AddSnapshotUpdate
from pyiceberg.utils.config import Config, merge_config
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

from aiopravega.errors import ConfigurationError, LandingError, TableUnavailableError
from pravega_jobs.landing.store_access import current_access

# A property of a REST catalog: seconds without a byte after which a request of it ends.
REQUEST_SECONDS: Final = "pravega.request-seconds"
_REQUEST_SECONDS: Final = 60.0
_CONNECT_SECONDS: Final = 10.0
# A request that changes nothing is sent again; one that may have changed something is not.
_RETRIES: Final = Retry(
    total=3,
    read=1,
    backoff_factor=0.5,
    status_forcelist=(429, 502, 503, 504),
    allowed_methods=("GET", "HEAD"),
    raise_on_status=False,
)
# Libraries by which pyiceberg asks catalogs and stores, and their errors that may pass.
_LIBRARIES: Final = frozenset({"azure", "botocore", "requests", "sqlalchemy", "thrift", "urllib3"})
_PASSING: Final = frozenset(
    {
        *("BotoCoreError", "ConnectionError", "InterfaceError", "OperationalError", "Timeout", "TTransportException"),
        *("ServiceRequestError", "ServiceResponseError"),
    }
)
_USER_OF_ADDRESS: Final = re.compile(r"//[^/@\s]*@")
_SECRET: Final = re.compile(r"secret|token|credential|password|key|auth|header\.", re.IGNORECASE)


class LimitedRestCatalog(RestCatalog):
    """A REST catalog of pyiceberg whose requests end. pyiceberg itself sets no limit, and sends nothing again."""

    def _config_headers(self, session: requests.Session) -> None:
        # The first call for a new session, before it is used: also requests for tokens go through it.
        super()._config_headers(session)
        for scheme in ("http://", "https://"):
            session.mount(scheme, HTTPAdapter(max_retries=_RETRIES))
        seconds = float(self.properties.get(REQUEST_SECONDS, _REQUEST_SECONDS))
        limited = partial(session.request, timeout=(min(_CONNECT_SECONDS, seconds), seconds))
        session.request = limited  # type: ignore[method-assign]  # requests has no limit for a session

    def commit_table(self, *args: Any) -> Any:
        """Commit as pyiceberg does; a connection that breaks, or an answer that cannot be read, leaves it open.

        Raises:
            CommitStateUnknownException: the commit may have succeeded.
        """
        try:
            return super().commit_table(*args)
        except requests.RequestException as error:
            raise CommitStateUnknownException(f"the answer of the catalog was lost: {_shown(error)}") from None
        except ValidationError as error:
            raise CommitStateUnknownException(f"the answer of the catalog cannot be read: {error.title}") from None


def open_catalog(name: str, properties: Mapping[str, Any]) -> Catalog:
    """Open a catalog; a REST catalog is asked for its settings, and maybe for a token.

    Args:
        name: its name in the configuration of pyiceberg, which is read now: `.pyiceberg.yaml` and the environment.
        properties: they win over the configuration; the access of the block that runs wins over them.

    Raises:
        ConfigurationError: the catalog is not configured, or cannot be opened as it is. The message has no secret.
    """
    found: dict[str, Any] = dict(merge_config(Config().get_catalog_config(name) or {}, dict(properties)))
    if (access := current_access()) is not None:
        found = access.over(found)
    if not {"uri", "type", "py-catalog-impl"} & found.keys():
        raise ConfigurationError(
            f"the catalog {name!r} of Iceberg is not configured: set PYICEBERG_CATALOG__{name.upper()}__URI, or name "
            "it in .pyiceberg.yaml"
        )
    known: Any = found
    try:
        return _sure(LimitedRestCatalog(name, **known) if _is_rest(found) else load_catalog(name, **known))
    except ValidationError as error:
        raise ConfigurationError(
            f"the catalog {name!r} of Iceberg gave an answer that pyiceberg cannot read as {error.title}: check its "
            "address"
        ) from None
    except (ValueError, TypeError, KeyError, NotInstalledError) as error:
        text = _without_secrets(str(error), found)
        raise ConfigurationError(f"the catalog {name!r} of Iceberg cannot be opened: {text}") from None


def _sure(catalog: Catalog) -> Catalog:
    """A catalog whose commits of snapshots fail only if the table does not have them.

    A commit is refused, although the table has it, when its first answer was lost and something sent it again: boto3
    does so for Glue. pyiceberg removes the manifests of what was refused, and the table could not be read any more.
    """
    commit = catalog.commit_table

    def commit_table(table: Table, requirements: Any, updates: tuple[Any, ...]) -> CommitTableResponse:
        try:
            return commit(table, requirements, updates)
        except (CommitFailedException, CommitStateUnknownException) as error:
            added = [each.snapshot.snapshot_id for each in updates if isinstance(each, AddSnapshotUpdate)]
            if not added:
                raise
            try:
                now = catalog.load_table(table.name())
            except Exception as unknown:
                raise CommitStateUnknownException(f"{error}; and then the table could not be loaded") from unknown
            if any(now.snapshot_by_id(each) is None for each in added):
                raise
            return CommitTableResponse.model_validate(
                {"metadata": now.metadata, "metadata-location": now.metadata_location}
            )

    catalog.commit_table = commit_table  # type: ignore[method-assign]  # catalogs have no hook
    return catalog


@contextmanager
def catalog_answers(identifier: str) -> Iterator[None]:
    """Errors of a catalog as errors of this package; that of a commit without a clear answer stays.

    Raises:
        LandingError: the catalog refuses; a TableUnavailableError, if it may answer later.
    """
    try:
        yield
    except CommitStateUnknownException:
        raise
    except RESTError as error:
        passes = isinstance(error, ServerError | ServiceUnavailableError | TooManyRequestsError)
        raise _refused(identifier, str(error), passes=passes) from error
    except Exception as error:
        of_library = type(error).__module__.partition(".")[0] in _LIBRARIES
        if not of_library and not isinstance(error, OSError):
            raise
        # Of no library: it is of the files of the table's metadata.
        passes = (
            bool(_PASSING & {each.__name__ for each in type(error).__mro__})
            if of_library
            else not isinstance(error, FileNotFoundError | PermissionError)
        )
        raise _refused(identifier, _shown(error), passes=passes) from None


def _refused(identifier: str, text: str, *, passes: bool) -> LandingError:
    kind = TableUnavailableError if passes else LandingError
    return kind(f"the catalog of Iceberg did not answer for {identifier}: {text}")


def _is_rest(properties: Mapping[str, Any]) -> bool:
    """True if pyiceberg would make its REST catalog of the properties."""
    if "py-catalog-impl" in properties:
        return False
    kind = properties.get("type")
    if kind is not None:
        return str(kind).lower() == "rest" and "uri" in properties
    return urlsplit(str(properties.get("uri"))).scheme in ("http", "https")


def _shown(error: BaseException) -> str:
    """The text of an error, without users and passwords of addresses."""
    return f"{type(error).__name__}: {_USER_OF_ADDRESS.sub('//', str(error))}"


def _without_secrets(text: str, properties: Mapping[str, Any]) -> str:
    for name, value in properties.items():
        if isinstance(value, Mapping):
            text = _without_secrets(text, value)
        elif value and _SECRET.search(name):
            text = text.replace(str(value), "***")
    return _USER_OF_ADDRESS.sub("//", text)

"""Assets that are about streams: their URIs, `pravega://scope/stream`, and keys of partitions.

What cannot work is refused when the DAG is parsed.
"""

from collections.abc import Iterable
from typing import Any, Final
from urllib.parse import SplitResult

from airflow.sdk import Asset
from airflow.sdk.execution_time.context import OutletEventAccessor

from aiopravega.errors import ConfigurationError
from aiopravega.names import StreamName

# In the `extra` of an asset: the format of the partition keys of its events, as of `strftime`.
PARTITIONS: Final = "pravega_partitions"
_SHAPE: Final = "write pravega://scope/stream"


def sanitize_uri(uri: SplitResult) -> SplitResult:
    """Check the URI of a stream; Airflow calls this function for every asset of the scheme `pravega`.

    Raises:
        ConfigurationError: the URI is not one of a stream. As a ValueError it stops the DAG from being parsed.
    """
    shown = uri.geturl()
    if uri.query or uri.fragment or "@" in uri.netloc or ":" in uri.netloc:
        raise ConfigurationError(
            f"asset URI {shown!r} has more than a scope and a stream: {_SHAPE}; servers and users belong in the "
            "connection"
        )
    try:
        stream = StreamName.parse(f"{uri.netloc}{uri.path}")
    except ConfigurationError as error:
        raise ConfigurationError(f"asset URI {shown!r} does not name a stream: {_SHAPE} ({error})") from None
    return uri._replace(netloc=stream.scope, path=f"/{stream.stream}")


def create_asset(*, scope: str, stream: str, extra: dict[str, Any] | None = None) -> Asset:
    """Make the asset of a stream; Airflow calls this function where a hook reports the streams that it has used.

    Raises:
        ConfigurationError: the scope or the stream is not a name that Pravega takes.
    """
    name = StreamName(scope, stream)
    return Asset(uri=f"pravega://{name.scope}/{name.stream}", extra=extra or {})


def takes_keys() -> bool:
    """True if tasks can give partition keys to the events of their outlets: from Airflow 3.3 on."""
    return hasattr(OutletEventAccessor, "add_partitions")


def check_outlets(outlets: Iterable[object]) -> None:
    """Check that this Airflow can do what the `extra` of outlets asks for.

    Raises:
        ConfigurationError: an outlet is to get partition keys, which only Airflow 3.3 and newer take from tasks.
    """
    for outlet in outlets:
        if PARTITIONS in (getattr(outlet, "extra", None) or {}) and not takes_keys():
            raise ConfigurationError(
                f"{PARTITIONS!r} of the outlet {outlet} gives keys to its events, which Airflow takes from tasks from "
                "3.3 on: leave it out, or give the DAG a timetable whose runs have partition keys"
            )

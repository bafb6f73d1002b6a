"""The URIs of assets that are streams: `pravega://scope/stream`. A bad one is refused when the DAG is parsed."""

from typing import Any, Final
from urllib.parse import SplitResult

from airflow.sdk import Asset

from aiopravega.errors import ConfigurationError
from aiopravega.names import StreamName

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

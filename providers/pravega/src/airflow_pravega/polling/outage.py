"""Outages of a cluster: sensors and triggers continue to wait; they report its begin and end, and not each failure."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from aiopravega.errors import PravegaError
from aiopravega.retry import known_outage


class Outage:
    """The outage of a cluster, if there is one, as one sensor, trigger or poller sees it.

    Args:
        what: the stream that is waited for, as `scope/stream`.
        log: gets a line for the begin and one for the end.
    """

    def __init__(self, what: str, log: Any) -> None:  # the loggers of sensors and of triggers share no type
        self._what = what
        self._log = log
        self._since: datetime | None = None

    @contextmanager
    def checking(self) -> Iterator[None]:
        """Run a check; in an outage that is reported already, the client does not report its own failures."""
        if self._since is None:
            yield
        else:
            with known_outage():
                yield

    def failed(self, error: PravegaError) -> None:
        """Take the failure of a check as the begin of an outage, or as a part of it.

        Raises:
            PravegaError: `error`, if waiting cannot help.
        """
        if not error.retryable:
            raise error
        if self._since is None:
            self._since = datetime.now(UTC)
            self._log.warning(
                "%s cannot be checked, and is checked again until it can: %s: %s",
                self._what,
                type(error).__name__,
                error,
            )

    def succeeded(self) -> None:
        """Take the success of a check as the end of an outage, if there was one."""
        if self._since is not None:
            since = self._since.isoformat(timespec="seconds")
            self._log.info("%s can be checked again; it could not since %s", self._what, since)
            self._since = None

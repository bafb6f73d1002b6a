"""Outages of a cluster: what waits for a stream continues to wait, and reports begin and end, not each failure."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from aiopravega.errors import PravegaError
from aiopravega.retry import known_outage


class Outage:
    """Whether a cluster is away, for one sensor or trigger.

    Args:
        what: what is waited for, such as `scope/stream`.
        log: where the begin and the end are reported.
    """

    def __init__(self, what: str, log: Any) -> None:  # the loggers of sensors and of triggers share no type
        self._what = what
        self._log = log
        self._since: datetime | None = None

    @contextmanager
    def checking(self) -> Iterator[None]:
        """Run a check; in an outage that is reported already, the client reports no failures of its own."""
        if self._since is None:
            yield
        else:
            with known_outage():
                yield

    def failed(self, error: PravegaError) -> None:
        """A check has failed.

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
        """A check has succeeded."""
        if self._since is not None:
            since = self._since.isoformat(timespec="seconds")
            self._log.info("%s can be checked again; it could not since %s", self._what, since)
            self._since = None

"""The credentials of requests: fixed ones, or a token that is got again before it ends, or when a server refuses it.

This module knows when to ask for a token; `aiopravega.net.token_kinds` knows how. Tokens are in this process only: a
configuration that is pickled or shown has the source's name.
"""

import asyncio
import base64
import json
import logging
import os
import threading
import time
from dataclasses import dataclass
from math import inf
from typing import Final

from aiopravega.credentials import ServerConfig
from aiopravega.errors import ConfigurationError, PravegaError
from aiopravega.net.token_kinds import FETCH, as_header, sendable

logger = logging.getLogger(__name__)

# A token is replaced this many seconds before it ends, or after this share of a shorter life.
_MARGIN: Final = 30.0
_SHARE: Final = 0.2
# A file is read again after so many seconds: its writer replaces the token before its end.
_FILE_SECONDS: Final = 60.0
# A source that gives a token which has ended by this machine's clock, or none, is asked again after so many seconds.
_PAUSE: Final = 5.0


def renewal_time(token: str, now: float, otherwise: float) -> float:
    """The time (of `time.time`) at which a JWT should be replaced; `otherwise` stands for the end of other tokens."""
    expiry = otherwise
    try:
        payload = token.split(".")[1]
        expiry = float(json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))["exp"])
    except (IndexError, KeyError, TypeError, ValueError):
        pass  # not a JWT that we can read: the server refuses it when it ends
    return expiry - min(_MARGIN, _SHARE * max(expiry - now, 0.0))


@dataclass(frozen=True, slots=True, repr=False)
class _Known:
    value: str
    renew_at: float


class _Source:
    """The token of one source, for all clients of this process; threads may share it."""

    def __init__(self, text: str) -> None:
        self._kind, _, self._reference = text.partition(":")
        self._lock = threading.Lock()
        self._known: _Known | None = None

    async def value(self) -> str:
        known = self._known
        # While another caller renews it, the last one is good: many callers would fill the threads of the event loop.
        if known is not None and (time.time() < known.renew_at or self._lock.locked()):
            return known.value
        return await asyncio.to_thread(self._renew, None)

    async def replacement(self, refused: str) -> str:
        return await asyncio.to_thread(self._renew, refused)

    def _renew(self, refused: str | None) -> str:
        with self._lock:
            known, now = self._known, time.time()
            usable = known is not None and known.value != refused
            if known is not None and usable and now < known.renew_at:
                return known.value  # another caller was faster
            try:
                value = as_header(FETCH[self._kind](self._reference), self._kind)
            except PravegaError as error:
                if known is None or not usable:
                    raise
                logger.warning("%s. The token of before is used until the server refuses it", error)
                self._known = _Known(known.value, now + _PAUSE)
            else:
                self._known = _Known(value, self._renewal_time(value))
            return self._known.value

    def _renewal_time(self, value: str) -> float:
        now = time.time()
        at = renewal_time(value.partition(" ")[2], now, inf)
        return max(now + _PAUSE, min(at, now + _FILE_SECONDS) if self._kind == "file" else at)


_sources: Final[dict[tuple[int, str], _Source]] = {}


class Authorization:
    """The `Authorization` header of a client's requests, now.

    Raises:
        ConfigurationError: the fixed token has characters that cannot be sent.
    """

    def __init__(self, config: ServerConfig) -> None:
        self._fixed = config.authorization()
        if self._fixed is not None and not sendable(self._fixed):  # gRPC would refuse it, and show it in its message
            raise ConfigurationError("the token has a line break or another character that a token cannot have")
        # A fork cannot continue with the lock of its parent.
        key = os.getpid(), config.token_source
        self._source = None if key[1] is None else _sources.setdefault((key[0], key[1]), _Source(key[1]))

    async def value(self) -> str | None:
        """The value to send; None: no credentials. It is a secret.

        Raises:
            AuthenticationError: the source gives no token.
            PravegaConnectionError: the server that gives tokens cannot be reached.
        """
        return self._fixed if self._source is None else await self._source.value()

    async def replacement(self, refused: str | None) -> str | None:
        """Another value, after a server has refused one; None: there is no other.

        Raises:
            AuthenticationError: the source gives no token.
            PravegaConnectionError: the server that gives tokens cannot be reached.
        """
        if self._source is None or refused is None:
            return None
        value = await self._source.replacement(refused)
        return None if value == refused else value

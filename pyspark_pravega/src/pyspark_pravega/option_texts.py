"""Spark's options as values: names checked, texts parsed, the connection settings among them.

Every complaint names the option, the value and the remedy, except for secrets, whose values it never shows. What
each option means is known to the reader and the writer.
"""

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from enum import StrEnum
from typing import Final, TypeVar

from aiopravega.config import PravegaConfig
from aiopravega.errors import ConfigurationError
from aiopravega.names import StreamName
from aiopravega.times import TimeUnit
from pravega_jobs.spark.options import CONNECTION_OPTIONS, STREAM_OPTION, TIME_UNIT_OPTION

C = TypeVar("C", bound=StrEnum)

METADATA_OPTION: Final = "metadata"
_TRUE: Final = frozenset({"true", "1", "yes", "on"})
_FALSE: Final = frozenset({"false", "0", "no", "off"})


class Options:
    """The options of one read or write. Upper and lower case are the same in names, as in Spark.

    Raises:
        ConfigurationError: an option that is not in `known`; the message has the names that are close to it.
    """

    def __init__(self, options: Mapping[str, str], known: Collection[str], what: str) -> None:
        self._options = {name.lower(): text for name, text in options.items()}
        for name in self._options:
            if name not in known:
                close = get_close_matches(name, known, n=3)
                hint = f"did you mean {' or '.join(close)}?" if close else f"known are {', '.join(sorted(known))}"
                raise ConfigurationError(f"{what} has no option {name!r}: {hint}")

    def text(self, name: str) -> str | None:
        """The text of an option, or None if it is absent or empty."""
        return self._options.get(name) or None

    def flag(self, name: str, default: bool) -> bool:
        """An option that is true or false.

        Raises:
            ConfigurationError: it is neither.
        """
        text = self.text(name)
        if text is None:
            return default
        if text.lower() not in _TRUE | _FALSE:
            raise ConfigurationError(f"option {name!r} is {text!r}, but must be true or false")
        return text.lower() in _TRUE

    def number(self, name: str, least: int = 1) -> int | None:
        """An option that is a whole number of at least `least`, or None if it is absent.

        Raises:
            ConfigurationError: it is not such a number.
        """
        text = self.text(name)
        if text is None:
            return None
        try:
            number = int(text)
        except ValueError:
            raise ConfigurationError(f"option {name!r} is {text!r}, but must be a whole number") from None
        if number < least:
            raise ConfigurationError(f"option {name!r} is {number}, but must be at least {least}")
        return number

    def time_unit(self) -> TimeUnit:
        """What the stream's writers count event times in: milliseconds, as most writers do, unless it is said.

        Raises:
            ConfigurationError: it is not a unit.
        """
        try:
            return TimeUnit.parse(self.text(TIME_UNIT_OPTION) or TimeUnit.MS.name)
        except ConfigurationError as error:
            raise ConfigurationError(f"option {TIME_UNIT_OPTION!r}: {error}") from None

    def config(self) -> PravegaConfig:
        """How to reach the cluster, from the connection options and the environment.

        Raises:
            ConfigurationError: they cannot work.
        """
        return PravegaConfig.from_options(self._options, CONNECTION_OPTIONS)

    def stream(self, config: PravegaConfig) -> StreamName:
        """The stream: options `scope` and `stream`, or `stream` as `scope/stream`.

        Raises:
            ConfigurationError: there is none, or it is not a name.
        """
        stream = self.text(STREAM_OPTION)
        if stream is None:
            hint = "give .option('scope', …) and .option('stream', …)"
            if not self._options:  # Spark hands none on for such a table
                hint += ", or make the table without a list of columns: CREATE TABLE … USING pravega OPTIONS (…)"
            raise ConfigurationError(f"option 'stream' is missing: {hint}")
        return StreamName.parse(stream, config.scope)


def choice(given: Options, name: str, kinds: type[C], default: C) -> C:
    """An option that is one of some words.

    Raises:
        ConfigurationError: it is none of them.
    """
    text = (given.text(name) or default).lower()
    try:
        return kinds(text)
    except ValueError:
        raise ConfigurationError(f"option {name!r} is {text!r}, but must be one of {', '.join(kinds)}") from None

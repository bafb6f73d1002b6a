"""Spark's options as values: names checked, texts parsed, the connection settings among them.

Every error names the option, the value and the remedy; it never shows the value of a secret. The reader and the writer
know the meaning of each option.
"""

from collections.abc import Callable, Collection, Mapping
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
# Spark passes no options for a table with a list of columns.
_TABLE: Final = "make the table without a list of columns: CREATE TABLE … USING pravega OPTIONS (…)"


class Options:
    """The options of one read or write. Their names are the same in upper and lower case, as in Spark.

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
            ConfigurationError: the option is neither.
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
            ConfigurationError: the option is not such a number.
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

    def names(self, name: str, fold: Callable[[str], str] = str) -> tuple[str, ...]:
        """An option that is a list of names, separated by commas, each as `fold` makes it; empty if it is absent.

        Raises:
            ConfigurationError: a name is there twice.
        """
        names = tuple(fold(each.strip()) for each in (self.text(name) or "").split(",") if each.strip())
        twice = sorted({each for each in names if names.count(each) > 1})
        if twice:
            raise ConfigurationError(f"option {name!r} has {', '.join(twice)} more than once")
        return names

    def time_unit(self) -> TimeUnit:
        """The unit of the event times of the stream's writers; by default milliseconds, as most writers use.

        Raises:
            ConfigurationError: the option is not a unit.
        """
        try:
            return TimeUnit.parse(self.text(TIME_UNIT_OPTION) or TimeUnit.MS.name)
        except ConfigurationError as error:
            raise ConfigurationError(f"option {TIME_UNIT_OPTION!r}: {error}") from None

    def config(self) -> PravegaConfig:
        """The configuration of the client, from the connection options and the environment.

        Raises:
            ConfigurationError: an option or a variable cannot work.
        """
        return PravegaConfig.from_options(self._options, CONNECTION_OPTIONS)

    def stream(self, config: PravegaConfig, in_sql: str = _TABLE) -> StreamName:
        """The stream: options `scope` and `stream`, or `stream` as `scope/stream`.

        Args:
            config: the configuration of the client, which may have the scope.
            in_sql: the way out where Spark has passed no options.

        Raises:
            ConfigurationError: no stream is given, or the text is not a name.
        """
        stream = self.text(STREAM_OPTION)
        if stream is None:
            hint = "give .option('scope', …) and .option('stream', …)"
            if not self._options:
                hint += f", or {in_sql}"
            raise ConfigurationError(f"option 'stream' is missing: {hint}")
        return StreamName.parse(stream, config.scope)


def choice(given: Options, name: str, kinds: type[C], default: C) -> C:
    """An option that is one of the words of an enumeration.

    Raises:
        ConfigurationError: the enumeration does not have the word.
    """
    text = (given.text(name) or default).lower()
    try:
        return kinds(text)
    except ValueError:
        raise ConfigurationError(f"option {name!r} is {text!r}, but must be one of {', '.join(kinds)}") from None

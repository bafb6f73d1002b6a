"""Settings of Debezium Server as jobs name them: a file where the job runs, and words for the harms that fail."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from aiopravega.errors import ConfigurationError
from pravega_jobs.debezium.server.settings import Harm, read_properties

_LONGEST: Final = 1_000_000  # bytes of a file of settings


def settings_of_file(path: str | Path) -> dict[str, str]:
    """The settings in a file `application.properties`.

    Raises:
        ConfigurationError: it cannot be read, is too long, or has a line that is no setting.
    """
    file = Path(path)
    try:
        if file.stat().st_size > _LONGEST:
            raise ConfigurationError(
                f"{file} has more than {_LONGEST:,} bytes, too many for settings: name another file"
            )
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"the settings of Debezium cannot be read from {file} ({type(error).__name__}): name a file of UTF-8 that "
            "is there where this runs"
        ) from None
    return read_properties(text)


def harms_named(names: Sequence[str]) -> frozenset[Harm]:
    """The harms of a list of `loses`, `spoils`, `stops`, `breaks`, `hides` and `doubles`.

    Raises:
        ConfigurationError: it is no list of these.
    """
    known = {harm.name.lower(): harm for harm in Harm}
    if isinstance(names, str) or any(name not in known for name in names):
        raise ConfigurationError(f"fail_on is {names!r}, but must be a list of {', '.join(known)}")
    return frozenset(known[name] for name in names)

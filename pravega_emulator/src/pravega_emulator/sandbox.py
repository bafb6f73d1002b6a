"""Recorded intervals of another cluster in an emulator: `pravega-emulator load`, and replays in tests.

The work is that of pravega-jobs, which offers it by entry points: an emulator needs neither Arrow nor DuckDB.
"""

import argparse
from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Any, Final

from aiopravega.commands.common import size
from aiopravega.errors import ConfigurationError

_OFFERS: Final = "pravega_emulator.sandbox"
_MOST_EVENTS: Final = 1_000_000
_MOST_BYTES: Final = "256MB"


def offered(name: str) -> Callable[..., Any]:
    """A function of pravega-jobs: `load` of the command, or `replay` of tests.

    Raises:
        ConfigurationError: it is not installed.
    """
    for each in entry_points(group=_OFFERS, name=name):
        found: Callable[..., Any] = each.load()
        return found
    raise ConfigurationError(f"to {name} recorded intervals in an emulator, install pravega-jobs[sql]")


def add_load_options(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `load`, by the names that `pravega replay` has for them."""
    add = parser.add_argument
    add("stream", metavar="SCOPE/STREAM", help="of the intervals, in the cluster of PRAVEGA_CONTROLLER_URI")
    add("--consumer", required=True, metavar="NAME", help="that took the intervals, as 'pravega cuts' lists it")
    add(
        "--interval",
        dest="intervals",
        action="append",
        required=True,
        metavar="NAME",
        help="may be given several times; each must be done",
    )
    add(
        "--compare-with",
        dest="output",
        metavar="SCOPE/STREAM",
        help="the stream that has what was written then; default: the one that the ledger names",
    )
    add("--write-id", metavar="ID", help="the name of the writes, with {interval} for the interval")
    add("--commit-ledger", metavar="SCOPE/TABLE", help="of the writes; default: the one in the output's scope")
    add(
        "--column",
        dest="columns",
        action="append",
        default=[],
        metavar="NAME",
        help="load only this column of the intervals' events, several times for several, as JSON; default: the events",
    )
    add(
        "--output-column",
        dest="output_columns",
        action="append",
        default=[],
        metavar="NAME",
        help="of what was written",
    )
    add(
        "-o",
        "--option",
        dest="read_options",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="how events become columns, for --column; SCOPE/OUTPUT:NAME=VALUE for --output-column",
    )
    add("--most-events", type=int, default=_MOST_EVENTS, metavar="N", help=f"refuse more ({_MOST_EVENTS:,})")
    add("--most-bytes", type=size, default=_MOST_BYTES, metavar="SIZE", help=f"refuse more ({_MOST_BYTES})")
    add("--registry", metavar="URI", help="Schema Registry; default: PRAVEGA_SCHEMA_REGISTRY_URI, or none")
    add("--controller", metavar="URI", help="controller; default: PRAVEGA_CONTROLLER_URI, as all other settings")
    add("--json", action="store_true", help="print JSON")

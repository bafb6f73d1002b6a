"""Options of commands that name ranges of streams and how their events become columns; the ranges that they stand for.

It knows neither SQL nor files.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from aiopravega.commands.common import CONTROLLER, REGISTRY, TIMES, Option, Options, event_time, parsed
from aiopravega.config import PravegaConfig
from aiopravega.errors import ConfigurationError, InvalidStreamCutError
from aiopravega.names import StreamName
from aiopravega.positions import NamedCut, Position, parse_position
from aiopravega.times import TimeUnit
from pravega_jobs.spark.options import TIME_OPTION, TIME_UNIT_OPTION

if TYPE_CHECKING:
    from aiopravega.blocking import PravegaClient
    from aiopravega.blocking.registry import SchemaRegistry
    from pravega_jobs.frames import StreamRange
    from pravega_jobs.frames.read import PlannedRead, ReadableRange

Bound: TypeAlias = Position | datetime
# A beginning of all times that each unit can count in 64 bits.
_FIRST_TIME: Final = datetime(1700, 1, 1, tzinfo=UTC)


def bound(text: str) -> Bound:
    """Read a cut, a name of a cut, or a time.

    Raises:
        ConfigurationError: it is none of them.
    """
    try:
        return parse_position(text)
    except InvalidStreamCutError:
        try:
            return event_time(text)
        except ConfigurationError:
            raise ConfigurationError(
                f"{text[:80]!r} is neither a cut (earliest, latest, or its text) nor a time in ISO 8601"
            ) from None


@dataclass(frozen=True, slots=True)
class ReadOption:
    """An option of events as columns; `stream` is the text of the stream that it is for, None: of all."""

    stream: str | None
    name: str
    value: str

    @classmethod
    def parse(cls, text: str) -> "ReadOption":
        """Read `NAME=VALUE` or `SCOPE/STREAM:NAME=VALUE`.

        Raises:
            ConfigurationError: it is something else.
        """
        words, is_there, value = text.partition("=")
        stream, is_of_one, name = words.rpartition(":")
        if not is_there or not name.strip() or (is_of_one and not stream.strip()):
            raise ConfigurationError(f"{text[:80]!r}: write NAME=VALUE, or SCOPE/STREAM:NAME=VALUE")
        return cls(stream.strip() if is_of_one else None, name.strip().lower(), value)


_BOUND: Final = parsed(bound, "bound")
READ_OPTION: Final = Option(
    ["-o", "--option", "read_options"],
    multiple=True,
    type=parsed(ReadOption.parse, "option"),
    metavar="NAME=VALUE",
    help="how events become columns: decode=json, columns='id long, …' and others; SCOPE/STREAM:NAME=VALUE for one "
    "stream of several",
)
RANGES: Final = (
    Option(
        ["--between"],
        nargs=2,
        type=_BOUND,
        metavar="START END",
        help="what lies between two cuts, or event times: START is included, END is not",
    ),
    Option(["--as-of"], type=_BOUND, metavar="CUT|TIME", help="all up to a cut, or before an event time"),
    READ_OPTION,
    *TIMES,
    REGISTRY,
    CONTROLLER,
)


@dataclass(frozen=True, slots=True)
class Cluster:
    """A connected client, and the Schema Registry if one is named."""

    client: "PravegaClient"
    registry: "SchemaRegistry | None"

    def name(self, text: str) -> StreamName:
        """The stream of a text `scope/stream`, or `stream` in the default scope."""
        return StreamName.parse(text, self.client.config.scope)


@contextmanager
def connected(options: Options) -> Iterator[Cluster]:
    """Connect to the cluster and the registry that the options or the environment name."""
    with (
        connected_client(options) as client,
        connected_registry(options.registry, client.config) as registry,
    ):
        yield Cluster(client, registry)


@contextmanager
def connected_client(options: Options) -> "Iterator[PravegaClient]":
    """Connect to the cluster that the option or the environment names."""
    from aiopravega.blocking import PravegaClient

    given: dict[str, Any] = {} if options.controller is None else {"controller_uri": options.controller}
    with PravegaClient(PravegaConfig(**given)) as client:
        yield client


@contextmanager
def connected_registry(uri: str | None, config: PravegaConfig) -> "Iterator[SchemaRegistry | None]":
    """Connect to the registry that the option or the environment names; None: neither does.

    Args:
        uri: the option.
        config: of the cluster, whose credentials the registry gets.
    """
    named = uri or os.environ.get("PRAVEGA_SCHEMA_REGISTRY_URI")
    if named is None:
        yield None
        return
    from aiopravega.blocking.registry import SchemaRegistry
    from aiopravega.schema import RegistryConfig

    with SchemaRegistry(RegistryConfig.beside(config, named)) as registry:
        yield registry


def range_by(options: Options, client: "PravegaClient", stream: StreamName) -> "StreamRange":
    """The range of a stream that `--between` or `--as-of` names; without them, all of the stream as it is now.

    Raises:
        ConfigurationError: the options do not fit each other.
        PravegaError: the range cannot be read.
    """
    from pravega_jobs.frames import StreamRange, range_of

    if options.between and options.as_of is not None:
        raise ConfigurationError("give --between or --as-of, not both")
    start, end = options.between or (NamedCut.HEAD, NamedCut.TAIL if options.as_of is None else options.as_of)
    if not isinstance(start, datetime) and not isinstance(end, datetime):
        if options.ahead is not None or options.clip:
            raise ConfigurationError("--ahead and --clip go with event times")
        first, last = (_of_stream(one, stream) for one in (start, end))
        return range_of(client, stream, first, last)
    if options.as_of is not None:
        start = _FIRST_TIME
    if not isinstance(start, datetime) or not isinstance(end, datetime):
        raise ConfigurationError("give two cuts or two event times, not one of each")
    times = (start, end)
    from_head = options.as_of is not None
    found = client.range_for(
        stream, times, ahead=options.ahead, clip=options.clip or from_head, from_head=True, unit=options.unit
    )
    return StreamRange(client, stream, found, times)


def _of_stream(position: Position, stream: StreamName) -> Position:
    of = None if isinstance(position, NamedCut) else position.stream
    if of is not None and of != stream:
        raise ConfigurationError(
            f"the cut is of {of}, but {stream} is read too: a query with a cut reads one stream; event times, earliest "
            "and latest are of any"
        )
    return position


def check_named(options: Options, streams: Iterable[StreamName], scope: str | None) -> None:
    """Refuse an option for a stream that is not used.

    Raises:
        ConfigurationError: the message names the stream.
    """
    known = list(streams)
    for one in options.read_options:
        if one.stream is not None and StreamName.parse(one.stream, scope) not in known:
            used = ", ".join(map(str, known)) or "none"
            raise ConfigurationError(f"-o {one.stream}:{one.name} is for a stream that is not used; used: {used}")


def options_of(options: Options, stream: StreamName, scope: str | None, *, others: bool = True) -> dict[str, str]:
    """The options `-o` for a stream: those that name it, and with `others` those that name none."""
    chosen: list[ReadOption] = options.read_options
    return {
        **{one.name: one.value for one in chosen if one.stream is None and others},
        **{
            one.name: one.value
            for one in chosen
            if one.stream is not None and StreamName.parse(one.stream, scope) == stream
        },
    }


def plan(cluster: Cluster, of: "ReadableRange", options: Options) -> "PlannedRead":
    """Check the range and the options of events as columns before anything is read.

    Raises:
        ConfigurationError: an option is not known, no schema is known, or a range of event times has no `event_time`.
        PravegaError: a server cannot be reached.
    """
    from pravega_jobs.frames.read import plan_read

    given: dict[str, Any] = dict(options_of(options, of.stream, cluster.client.config.scope))
    if of.times is not None:
        unit: TimeUnit = options.unit
        given = {TIME_UNIT_OPTION: unit.name} | given
        if TIME_OPTION not in given:
            raise ConfigurationError(
                f"a range of event times also has events of other times: name the column of the times of {of.stream} "
                f"by -o {TIME_OPTION}=COLUMN"
            )
    return plan_read(of, None, cluster.registry, given)

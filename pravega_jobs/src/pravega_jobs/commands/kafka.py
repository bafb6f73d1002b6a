"""The command `pravega kafka`: copies of Kafka's topics into streams, their comparison, and the cut-over of groups."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from aiopravega.commands.common import (
    CONTROLLER,
    DURATION,
    POSITION,
    REGISTRY,
    SIZE,
    YES,
    Option,
    Options,
    decided,
    show,
    table,
    verb,
)
from aiopravega.commands.grammar import NO, Argument, Topic, interrupted_at_once
from aiopravega.cuts import StreamCut
from aiopravega.errors import ConfigurationError, PravegaError
from aiopravega.names import StreamName
from pravega_jobs.commands.ranges import connected, connected_client
from pravega_jobs.frame_kinds import need

if TYPE_CHECKING:
    from aiopravega.blocking import PravegaClient
    from aiopravega.blocking.registry import SchemaRegistry
    from pravega_jobs.kafka import CopyOptions, KafkaCluster

command = Topic(name="kafka", help="Copies of Kafka's topics into streams, and the cut-over of consumer groups.")
_TOPIC: Final = Argument("topic", "TOPIC", "of Kafka")
_STREAM: Final = Argument("stream", "SCOPE/STREAM", "that gets its copy, or STREAM, in the scope PRAVEGA_SCOPE")
_PROPERTIES: Final = "PRAVEGA_KAFKA_PROPERTIES"
_KAFKA: Final = Option(
    ["--kafka"],
    type=click.Path(path_type=Path, dir_okay=False),
    envvar=_PROPERTIES,
    metavar="FILE",
    help="settings of librdkafka, a line name=value for each: bootstrap.servers, security.protocol, sasl.password and "
    "others; default: the file that PRAVEGA_KAFKA_PROPERTIES names",
)
_TIMEOUT: Final = Option(
    ["--timeout"], type=DURATION, default="30s", metavar="DURATION", help="limit for Kafka's answers (30s)"
)
_GROUP: Final = Option(["--group"], required=True, metavar="NAME", help="the consumer group of Kafka")
_COMMON: Final = (_TOPIC, _STREAM, _KAFKA, _TIMEOUT, REGISTRY, CONTROLLER)
_UNSET: Final = "default: as the copy has begun"


@verb(
    command,
    "copy",
    *_COMMON,
    Option(["--events"], type=click.Choice(["value", "record"]), help="an event is a record's value, or all of it"),
    Option(
        ["--routing"],
        type=click.Choice(["key", "hex", "partition"]),
        help="the routing key: the record's key as text, its hexadecimal digits, or the partition",
    ),
    Option(["--headers"], type=click.Choice(["refuse", "drop"]), help="of records whose value becomes the event"),
    Option(
        ["--schemas"],
        type=click.Choice(["raw", "registry"]),
        help="values with Confluent's header: as they are, or rewritten for Pravega's registry",
    ),
    Option(["--tombstones"], type=click.Choice(["refuse", "drop"]), help="records without a value"),
    Option(["--commit-ledger"], metavar="SCOPE/TABLE", help="of the writes; default: the one in the stream's scope"),
    Option(
        ["--step"],
        type=click.IntRange(min=1),
        default=1_000_000,
        metavar="N",
        help="the most records of a step, which is one transaction (1,000,000)",
    ),
    Option(["--behind"], multiple=True, metavar="GROUP", help="do not overtake this group; several times for several"),
    Option(
        ["--lost"],
        type=click.Choice(["refuse", "drop"]),
        default="refuse",
        help="records that Kafka has deleted before they were copied: an error (the default), or continue after them",
    ),
    Option(
        ["--every"],
        type=DURATION,
        metavar="DURATION",
        help="copy again and again with this pause, until Ctrl-C or an error that does not pass",
    ),
    has_client=False,
)
async def _copy(options: Options) -> int:
    """Copy what a topic has and the stream has not, exactly once. A run that was killed is continued by the next one.

    Options of events stay the same for the whole copy. Without them, values become events, keys are texts, and records
    with headers or without a value are refused.
    """
    with _connected(options) as (client, cluster, registry):
        from pravega_jobs.kafka import copy_topic

        every: timedelta | None = options.every
        while True:
            try:
                done = copy_topic(
                    client,
                    cluster,
                    options.topic,
                    StreamName.parse(options.stream, client.config.scope),
                    options=_copy_options(options),
                    ledger=options.commit_ledger,
                    step_records=options.step,
                    behind=options.behind,
                    lost=options.lost,
                    registry=registry,
                )
            except PravegaError as error:
                if every is None or not error.retryable:
                    raise
                click.echo(f"{error}: tried again in {every.total_seconds():g} s", err=True)
            else:
                code = show(options, done.to_json(), str(done))
                if every is None:
                    return code
            await asyncio.sleep(every.total_seconds())


@verb(
    command,
    "compare",
    *_COMMON,
    Option(["--since-step"], type=click.IntRange(min=1), default=1, metavar="N", help="the first step to compare (1)"),
    has_client=False,
)
async def _compare(options: Options) -> int:
    """Read both sides again, and compare counts, bytes and hashes of each step. Exit status 1: something differs.

    A step cannot be compared if Kafka has deleted records of it since, which is exit status 1 as well.
    """
    with _connected(options) as (client, cluster, registry):
        from pravega_jobs.kafka import compare_copy

        stream = StreamName.parse(options.stream, client.config.scope)
        found = compare_copy(client, cluster, options.topic, stream, since_step=options.since_step, registry=registry)
    return show(options, found.to_json(), str(found), yes=found.is_same)


@verb(
    command,
    "cut-over",
    *_COMMON,
    _GROUP,
    Option(["--consumer"], metavar="NAME", help="a consumer of the cut ledger, as of a sensor, that begins at the cut"),
    Option(["--ledger"], metavar="SCOPE/TABLE", help="its cut ledger; default: the one in the stream's scope"),
    Option(["--reader-group"], metavar="SCOPE/NAME", help="a reader group of Java that is made and begins at the cut"),
    Option(
        ["--most-repeats"],
        type=click.IntRange(min=0),
        default=0,
        metavar="N",
        help="the most records that the group may get again, if no step ends at its offsets (0)",
    ),
    Option(["--decide-again"], is_flag=True, help="forget the cut that was decided for the group, and decide again"),
    has_client=False,
)
async def _cut_over(options: Options) -> int:
    """Give a consumer group whose consumers have ended the cut at which it continues in the stream.

    The copy is continued up to the offsets of the group, if it is not beyond them. The same group gets the same cut
    again, while it has committed nothing beyond it.
    """
    with _connected(options) as (client, cluster, registry):
        from pravega_jobs.kafka import cut_over

        found = cut_over(
            client,
            cluster,
            options.topic,
            StreamName.parse(options.stream, client.config.scope),
            options.group,
            most_repeats=options.most_repeats,
            consumer=options.consumer,
            cut_ledger=options.ledger,
            reader_group=options.reader_group,
            registry=registry,
            decide_again=options.decide_again,
        )
    offsets = ", ".join(f"{number}: {offset}" for number, offset in enumerate(found.offsets))
    repeats = f", {found.repeats:,} records come again" if found.repeats else ""
    text = f"{found.group} continues after step {found.step}{repeats} (offsets {offsets})\n{found.cut}"
    return show(options, found.model_dump(mode="json"), text)


@verb(
    command,
    "go-back",
    *_COMMON,
    _GROUP,
    Option(
        ["--cut"],
        type=POSITION,
        metavar="CUT",
        help="up to where its consumers have read the stream; default: the cut of the cut-over",
    ),
    Option(
        ["--most-repeated", "most_repeated"],
        type=SIZE,
        default="0",
        metavar="SIZE",
        help="of the events that the group may get again, if no step ends at the cut (0)",
    ),
    YES,
    has_client=False,
)
async def _go_back(options: Options) -> int:
    """Set a group's offsets in Kafka to where its consumers are in the stream. They must have ended.

    Events that were written to the stream, and not to Kafka, are not there.
    """
    with _connected(options) as (client, cluster, _):
        from pravega_jobs.kafka import go_back

        stream = StreamName.parse(options.stream, client.config.scope)
        if options.cut is not None and not isinstance(options.cut, StreamCut):
            raise ConfigurationError("--cut is the text of a cut, not a name of one")
        words = {"cut": options.cut, "most_repeated_bytes": options.most_repeated}
        planned = go_back(client, cluster, options.topic, stream, options.group, dry_run=True, **words)
        offsets = ", ".join(f"{number}: {offset}" for number, offset in enumerate(planned.offsets))
        said = (
            f"group {planned.group} gets these offsets of topic {planned.topic}: {offsets}; events of "
            f"{planned.repeated_bytes:,} bytes come again"
        )
        if not decided(options, said):
            return NO
        done = go_back(client, cluster, options.topic, stream, options.group, **words)
    values = {
        "group": done.group,
        "topic": done.topic,
        "offsets": done.offsets,
        "step": done.step,
        "repeated_bytes": done.repeated_bytes,
    }
    return show(options, values, said)


@verb(command, "show", _STREAM, CONTROLLER, has_client=False)
async def _show(options: Options) -> int:
    """Show the copy that a stream has: its topic, the offsets and cuts of its steps, the cuts of groups."""
    need("kafka", "confluent_kafka")
    from pravega_jobs.kafka import copy_of

    with interrupted_at_once(), connected_client(options) as client:
        found = copy_of(client, StreamName.parse(options.stream, client.config.scope))
    rows = [
        [
            step.number,
            " ".join(map(str, step.ends)),
            step.cuts.events if step.cuts else "",
            step.cuts.end if step.cuts else "not done",
        ]
        for step in found.steps
    ]
    groups = [[cut.group, cut.step, cut.repeats, cut.cut] for cut in found.groups]
    texts = [f"topic {found.record.topic} ({found.record.options})", table(("step", "ends", "events", "cut"), rows)]
    if groups:
        texts.append(table(("group", "step", "repeats", "cut"), groups))
    return show(options, found.to_json(), "\n\n".join(texts))


@contextmanager
def _connected(options: Options) -> "Iterator[tuple[PravegaClient, KafkaCluster, SchemaRegistry | None]]":
    need("kafka", "confluent_kafka")
    from pravega_jobs.kafka import KafkaCluster, KafkaConfig

    if options.kafka is None:
        raise ConfigurationError(f"no settings of Kafka: name their file by --kafka, or set {_PROPERTIES}")
    config = KafkaConfig.from_file(options.kafka, options.timeout.total_seconds())
    with interrupted_at_once(), connected(options) as found:
        yield found.client, KafkaCluster(config), found.registry


def _copy_options(options: Options) -> "CopyOptions | None":
    """The options of events; None: none is given."""
    from pravega_jobs.kafka import CopyOptions

    names = ("events", "routing", "headers", "tombstones", "schemas")
    given = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    return CopyOptions.of(given) if given else None

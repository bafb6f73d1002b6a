"""The command `pravega cuts`: it lists the intervals of a cut ledger, checks them, and draws them as text.

Decisions of a person about a ledger are in `decisions`. Other distributions add subcommands, such as `whole` of
pravega-jobs.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from importlib.metadata import EntryPoint, entry_points
from typing import Final

from aiopravega.client import PravegaClient
from aiopravega.commands.common import (
    DURATION,
    LEDGER,
    STREAM,
    Option,
    Options,
    check_stream,
    ledger_of,
    show,
    stream_of,
    table,
    verb,
)
from aiopravega.commands.decisions import add_decisions
from aiopravega.commands.grammar import DONE, NO, Topic
from aiopravega.errors import ConfigurationError
from aiopravega.intervals.reports.picture import draw_text
from aiopravega.intervals.reports.verify import IntervalFinding, verify
from aiopravega.ledger import CutRecord, IntervalState
from aiopravega.names import StreamName

# The group of entry points by which a distribution adds subcommands to this topic.
_SUBCOMMANDS: Final = "aiopravega.cuts"
# The group of entry points by which a distribution that knows tables compares them: a `TableComparison` each.
TABLES: Final = "aiopravega.tables"
# From the text of a table, a stream and the records of its consumers, to the findings of each consumer.
TableComparison = Callable[[str, StreamName, Mapping[str, Sequence[CutRecord]]], Mapping[str, list[IntervalFinding]]]


command = Topic(name="cuts", help="Intervals of consumers of streams, and the ranges that they have.")
_CONSUMER: Final = Option(["--consumer"], help="only this consumer of the stream")


async def _consumers(client: PravegaClient, options: Options) -> dict[str, list[CutRecord]]:
    stream = stream_of(client, options)
    ledger = ledger_of(client, options, stream.scope)
    if options.consumer is None:
        found = {name: records for (of, name), records in (await ledger.consumers()).items() if of == stream}
        if not found:
            await check_stream(client, stream)
        return found
    records = await ledger.records(options.consumer, stream)
    if not records:
        raise ConfigurationError(f"{options.consumer!r} has no intervals of {stream}")
    return {options.consumer: records}


def _counts(records: Sequence[CutRecord]) -> dict[IntervalState, int]:
    """The numbers of intervals that are done, open and failed, and of every other state that occurs."""
    counted = Counter(record.state for record in records)
    always = (IntervalState.DONE, IntervalState.OPEN, IntervalState.FAILED)
    return {state: counted[state] for state in (*always, *sorted(counted.keys() - set(always)))}


@verb(command, "list", STREAM, _CONSUMER, LEDGER)
async def _list(client: PravegaClient, options: Options) -> int:
    """Show consumers, or the intervals of one."""
    consumers = await _consumers(client, options)
    if options.consumer is None:
        rows = [_summary(name, records) for name, records in consumers.items()]
        text = table(("consumer", "intervals", "done", "open", "failed", "last"), rows)
    else:
        rows = [_row(record) for record in consumers[options.consumer]]
        text = table(("interval", "state", "taken", "by", "since", "by", "why"), rows)
    return show(options, [each.model_dump(mode="json") for records in consumers.values() for each in records], text)


def _summary(name: str, records: Sequence[CutRecord]) -> tuple[object, ...]:
    counts = _counts(records)
    of_state = (counts[state] for state in (IntervalState.DONE, IntervalState.OPEN, IntervalState.FAILED))
    return name, len(records), *of_state, records[-1].interval


def _row(record: CutRecord) -> tuple[object, ...]:
    changed = f"{record.changed_at:%Y-%m-%d %H:%M:%S}" if record.changed_at else ""
    recorded = f"{record.recorded_at:%Y-%m-%d %H:%M:%S}"
    why = record.reason or record.skipped_because or ""
    return record.interval, record.state.value, recorded, record.recorded_by, changed, record.changed_by or "", why


@verb(
    command,
    "verify",
    STREAM,
    _CONSUMER,
    Option(
        ["--allow-open"],
        type=DURATION,
        default=timedelta(),
        metavar="DURATION",
        help="somebody may be at work on an interval for so long: 90s, 15m, 6h, 1d (0s)",
    ),
    Option(
        ["--table"],
        metavar="TABLE",
        help="compare it with the intervals that this table of pravega-jobs holds, and count the table's rows, for "
        "example delta:/folder",
    ),
    LEDGER,
)
async def _verify(client: PravegaClient, options: Options) -> int:
    """Find gaps, overlaps, intervals that are not done, and those that cannot be read."""
    consumers = await _consumers(client, options)
    findings = {
        name: await verify(client, records, allow_open=options.allow_open) for name, records in consumers.items()
    }
    if options.table is not None:
        for name, differences in _compared(options, client.config.scope, consumers).items():
            findings[name] += differences
    if options.json:
        shown = [
            {
                "consumer": name,
                "intervals": {state.value: count for state, count in _counts(consumers[name]).items()},
                "findings": [
                    {"kind": each.kind, "intervals": each.intervals, "bytes": each.size, "text": each.text}
                    for each in wrong
                ],
            }
            for name, wrong in findings.items()
        ]
        print(json.dumps(shown, indent=2))
    else:
        for name, records in consumers.items():
            wrong = findings[name]
            counts = ", ".join(f"{count} {state.value}" for state, count in _counts(records).items())
            summary = f"{len(wrong)} findings" if wrong else "no gap, no overlap"
            print(f"{name}: {len(records)} intervals ({counts}): {summary}")
            for each in wrong:
                size = "" if each.size is None else f" ({each.size:,} bytes)"
                print(f"  {each.kind} at {' and '.join(map(repr, each.intervals))}{size}: {each.text}")
    return NO if any(findings.values()) else DONE


def _compared(
    options: Options, scope: str | None, consumers: Mapping[str, Sequence[CutRecord]]
) -> dict[str, list[IntervalFinding]]:
    """The differences between a table and the records, by consumer."""
    compare = table_comparison(entry_points(group=TABLES))
    stream = StreamName.parse(options.stream, scope)
    findings = compare(options.table, stream, consumers)
    unknown = sorted(findings.keys() - consumers.keys())
    if unknown and options.consumer is None:
        raise ConfigurationError(
            f"{options.table} holds intervals of {unknown} on {stream}, whom the ledger does not know: name the right "
            "ledger by --ledger, or one consumer by --consumer"
        )
    return {name: findings[name] for name in consumers}


def table_comparison(found: Iterable[EntryPoint]) -> TableComparison:
    """The function that compares tables, of the one distribution that offers it.

    Args:
        found: the entry points of the group `aiopravega.tables` that are installed.

    Raises:
        ConfigurationError: none is installed, or several are.
    """
    offered = list(found)
    if not offered:
        raise ConfigurationError("--table needs pravega-jobs: pip install 'pravega-jobs[delta]'")
    if len(offered) > 1:
        values = ", ".join(sorted(each.value for each in offered))
        raise ConfigurationError(f"several distributions compare tables ({values}): uninstall all but one")
    compare: TableComparison = offered[0].load()
    return compare


@verb(command, "plot", STREAM, _CONSUMER, LEDGER)
async def _plot(client: PravegaClient, options: Options) -> int:
    """Draw in characters when intervals were processed."""
    consumers = await _consumers(client, options)
    pictures = {name: draw_text(records) for name, records in consumers.items()}
    return show(options, pictures, "\n".join(f"{name}\n{picture}" for name, picture in pictures.items()))


add_decisions(command)
for added in entry_points(group=_SUBCOMMANDS):
    added.load()(command)

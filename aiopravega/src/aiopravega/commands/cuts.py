"""The command `pravega cuts`: it lists the intervals of a cut ledger, checks them, and draws them as text.

Decisions of a person about a ledger are in `decisions`. Other distributions add subcommands, such as `whole` of
pravega-jobs.
"""

import argparse
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from importlib.metadata import EntryPoint, entry_points
from typing import Final

from aiopravega.client import PravegaClient
from aiopravega.commands.common import add_cluster, add_command, add_json, duration, ledger_of, run, show, table
from aiopravega.commands.decisions import add_decisions
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


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code: 1 if `verify` finds something, 2 after an error."""
    parser = argparse.ArgumentParser(
        prog="pravega cuts", description="Intervals of consumers of streams, and the ranges that they have."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    shown = add_command(commands, "list", _list, "show consumers, or the intervals of one")
    checked = add_command(
        commands, "verify", _verify, "find gaps, overlaps, intervals that are not done, and those that cannot be read"
    )
    checked.add_argument(
        "--allow-open",
        type=duration,
        default=timedelta(),
        metavar="DURATION",
        help="somebody may be at work on an interval for so long: 90s, 15m, 6h, 1d (0s)",
    )
    checked.add_argument(
        "--table",
        metavar="TABLE",
        help="compare it with the intervals that this table of pravega-jobs holds, and count the table's rows, for "
        "example delta:/folder",
    )
    for each in (shown, checked):
        add_json(each)
    drawn = add_command(commands, "plot", _plot, "draw in characters when intervals were processed")
    for each in (shown, checked, drawn):
        add_cluster(each)
        each.add_argument("stream", help="scope/stream")
        each.add_argument("--consumer", help="only this consumer of the stream")
    add_decisions(commands)
    for added in entry_points(group=_SUBCOMMANDS):
        added.load()(commands)
    return run(parser.parse_args(arguments))


async def _consumers(client: PravegaClient, options: argparse.Namespace) -> dict[str, list[CutRecord]]:
    stream = StreamName.parse(options.stream, client.config.scope)
    ledger = ledger_of(client, options, stream.scope)
    if options.consumer is None:
        return {name: records for (of, name), records in (await ledger.consumers()).items() if of == stream}
    records = await ledger.records(options.consumer, stream)
    if not records:
        raise ConfigurationError(f"{options.consumer!r} has no intervals of {stream}")
    return {options.consumer: records}


def _counts(records: Sequence[CutRecord]) -> dict[IntervalState, int]:
    """The numbers of intervals that are done, open and failed, and of every other state that occurs."""
    counted = Counter(record.state for record in records)
    always = (IntervalState.DONE, IntervalState.OPEN, IntervalState.FAILED)
    return {state: counted[state] for state in (*always, *sorted(counted.keys() - set(always)))}


async def _list(client: PravegaClient, options: argparse.Namespace) -> int:
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


async def _verify(client: PravegaClient, options: argparse.Namespace) -> int:
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
    return 1 if any(findings.values()) else 0


def _compared(
    options: argparse.Namespace, scope: str | None, consumers: Mapping[str, Sequence[CutRecord]]
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


async def _plot(client: PravegaClient, options: argparse.Namespace) -> int:
    consumers = await _consumers(client, options)
    for name, records in consumers.items():
        print(f"{name}\n{draw_text(records)}")
    return 0

"""The command `pravega backfill`: it shows the plan of a backfill, and runs a program for each interval."""

import asyncio
import os
from collections.abc import Mapping
from typing import Final

import click

from aiopravega.client import PravegaClient
from aiopravega.commands.common import (
    LEDGER,
    SIZE,
    SPAN,
    STREAM,
    Option,
    Options,
    ledger_of,
    parsed,
    show,
    stream_of,
    table,
    verb,
)
from aiopravega.commands.grammar import Argument, Topic
from aiopravega.cuts import UNBOUNDED
from aiopravega.errors import ConfigurationError
from aiopravega.intervals.plans.backfill import BackfillPlan, PlannedInterval, run_backfill
from aiopravega.intervals.plans.planning import plan_parts, plan_times
from aiopravega.intervals.plans.steps import Step

command = Topic(name="backfill", help="Process the past of a stream, interval by interval, each once.")
_INTERVALS: Final = (
    Option(["--consumer"], required=True, help="name of the backfill: what is done is known by it"),
    *SPAN,
    Option(["--parts"], type=int, metavar="N", help="how many intervals"),
    Option(["--bytes", "max_bytes"], type=SIZE, metavar="SIZE", help="or about how large, such as 256MiB"),
    Option(["--every"], type=parsed(Step.parse), metavar="DURATION", help="length of an interval: 15m, 1d, 1mo"),
    LEDGER,
)


async def _planned(client: PravegaClient, options: Options) -> BackfillPlan:
    stream = stream_of(client, options)
    ledger = ledger_of(client, options, stream.scope)
    times = [options.since, options.until, options.every]
    if not any(times):
        return await plan_parts(
            client,
            stream,
            options.consumer,
            start=options.start or UNBOUNDED,
            end=options.end or UNBOUNDED,
            parts=options.parts,
            max_bytes=options.max_bytes,
            ledger=ledger,
        )
    if not all(times) or options.parts or options.max_bytes:
        raise ConfigurationError("a backfill of event times has --from, --to and --every, and no --parts or --bytes")
    return await plan_times(
        client,
        stream,
        options.consumer,
        options.every.times(options.since, options.until),
        ahead=options.ahead,
        clip=options.clip,
        unit=options.unit,
        ledger=ledger,
    )


@verb(command, "plan", STREAM, *_INTERVALS)
async def _plan(client: PravegaClient, options: Options) -> int:
    """Show what would be read; records nothing. With --json, the cuts of every interval."""
    plan = await _planned(client, options)
    summary = {
        "stream": str(plan.stream),
        "consumer": plan.consumer,
        "tasks": len(plan.waiting),
        "done": len(plan.intervals) - len(plan.waiting),
        "bytes": plan.size,
        "events_estimated": plan.events,
    }
    intervals = [
        {"interval": interval.name, "bytes": interval.size, "done": interval.is_done, **interval.range.to_json()}
        for interval in plan.intervals
    ]
    rows = [
        (interval.name, "?" if interval.size is None else f"{interval.size:,}", "done" if interval.is_done else "to do")
        for interval in plan.intervals
    ]
    to_do = f"to do: {len(plan.waiting):,} tasks, {plan.size:,} bytes, about {plan.events:,} events"
    text = f"{table(('interval', 'bytes', 'state'), rows)}\n\n{to_do}"
    return show(options, summary | {"intervals": intervals}, text)


@verb(
    command,
    "run",
    STREAM,
    Argument("program", "-- PROGRAM...", "the program, and its words", nargs=-1, required=True),
    *_INTERVALS,
    Option(
        ["--parallel"],
        type=click.IntRange(min=1),
        metavar="N",
        default=4,
        help="programs that run at the same time (4)",
    ),
    epilog="In the program's words {start} and {end} are the StreamCuts of an interval, {interval}, {since} and "
    "{until} its name and its event times, {stream} the stream; the environment has them as BACKFILL_START and so on.",
)
async def _run(client: PravegaClient, options: Options) -> int:
    """Run a program for every interval that is not done."""
    plan = await _planned(client, options)
    ledger = ledger_of(client, options, plan.stream.scope)

    async def work(interval: PlannedInterval) -> None:
        values = {
            "stream": str(plan.stream),
            "interval": interval.name,
            **interval.range.to_json(),
            "since": interval.since.isoformat() if interval.since else "",
            "until": interval.until.isoformat() if interval.until else "",
        }
        words = [_filled(word, values) for word in options.program]
        variables = {f"BACKFILL_{name.upper()}": value for name, value in values.items()}
        process = await asyncio.create_subprocess_exec(*words, env=os.environ | variables)
        code = await process.wait()
        if code:
            raise ChildProcessError(f"{words[0]} ended with {code}")

    failures = await run_backfill(client, plan, work, parallel=options.parallel, ledger=ledger)
    for name, error in failures.items():
        click.echo(f"failed: {name}: {error}", err=True)
    done, intervals = len(plan.waiting) - len(failures), len(plan.waiting)
    values = {"done": done, "intervals": intervals, "failed": {name: str(error) for name, error in failures.items()}}
    return show(options, values, f"{done} of {intervals} intervals done", yes=not failures)


def _filled(word: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        word = word.replace(f"{{{name}}}", value)
    return word

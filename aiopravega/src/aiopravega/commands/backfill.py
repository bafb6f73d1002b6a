"""The command `pravega backfill`: it shows the plan of a backfill, and runs a program for each interval."""

import argparse
import asyncio
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar

from aiopravega.client import PravegaClient
from aiopravega.commands.common import (
    add_cluster,
    add_command,
    add_json,
    duration,
    event_time,
    ledger_of,
    number_with_unit,
    run,
    show,
    table,
)
from aiopravega.cuts import UNBOUNDED
from aiopravega.errors import ConfigurationError, PravegaError
from aiopravega.intervals.plans.backfill import BackfillPlan, PlannedInterval, run_backfill
from aiopravega.intervals.plans.planning import plan_parts, plan_times
from aiopravega.intervals.plans.steps import Step
from aiopravega.names import StreamName
from aiopravega.positions import parse_position
from aiopravega.times import TimeUnit

T = TypeVar("T")
_SIZES: Final = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "ki": 2**10, "mi": 2**20, "gi": 2**30}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code: 1 if an interval failed, 2 after an error."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    at = words.index("--") if "--" in words else len(words)
    parser = argparse.ArgumentParser(
        prog="pravega backfill",
        description="Process the past of a stream, interval by interval, each once.",
        epilog="The program of 'run' follows '--'. {start} and {end} in its words are the StreamCuts of an interval, "
        "{interval}, {since} and {until} its name and its event times, {stream} the stream; the environment has the "
        "same as BACKFILL_START and so on.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    planned = add_command(commands, "plan", _plan, "show what would be read; records nothing")
    add_json(planned, "print JSON, with the cuts of every interval")
    started = add_command(
        commands, "run", _run, "run a program for every interval that is not done: run … -- PROGRAM …"
    )
    started.add_argument("--parallel", type=int, default=4, help="programs that run at the same time (4)")
    started.set_defaults(program=words[at + 1 :])
    for each in (planned, started):
        add_cluster(each)
        each.add_argument("stream", help="scope/stream")
        each.add_argument("--consumer", required=True, help="name of the backfill: what is done is known by it")
        position = _argument(parse_position)
        each.add_argument("--start", type=position, default=UNBOUNDED, metavar="CUT", help="or earliest, the default")
        each.add_argument("--end", type=position, default=UNBOUNDED, metavar="CUT", help="or latest, the default")
        each.add_argument("--parts", type=int, help="how many intervals")
        each.add_argument("--bytes", type=_size, metavar="SIZE", help="or about how large, such as 256MiB")
        each.add_argument("--from", type=event_time, dest="since", metavar="TIME", help="or event times: ISO 8601, UTC")
        each.add_argument("--to", type=event_time, dest="until", metavar="TIME", help="the end, not included")
        step, unit = _argument(Step.parse), _argument(TimeUnit.parse)
        each.add_argument("--every", type=step, metavar="DURATION", help="length of an interval: 15m, 1d, 1mo")
        each.add_argument("--ahead", type=duration, help="how much newer than the time noted next events may be")
        each.add_argument("--unit", type=unit, default=TimeUnit.MS, help="of event times: ns, us, ms, s (ms)")
        each.add_argument("--clip", action="store_true", help="take what retention has left of the times")
    return run(parser.parse_args(words[:at]))


def _size(text: str) -> int:
    return number_with_unit(text, r"(\d+) ?([kmg]?i?)b?", _SIZES)


def _argument(parse: Callable[[str], T]) -> Callable[[str], T]:
    """A parser of this package with errors of argparse, which shows messages of these only."""

    def parsed(text: str) -> T:
        try:
            return parse(text)
        except PravegaError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return parsed


async def _planned(client: PravegaClient, options: argparse.Namespace) -> BackfillPlan:
    stream = StreamName.parse(options.stream, client.config.scope)
    ledger = ledger_of(client, options, stream.scope)
    times = [options.since, options.until, options.every]
    if not any(times):
        return await plan_parts(
            client,
            stream,
            options.consumer,
            start=options.start,
            end=options.end,
            parts=options.parts,
            max_bytes=options.bytes,
            ledger=ledger,
        )
    if not all(times) or options.parts or options.bytes:
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


async def _plan(client: PravegaClient, options: argparse.Namespace) -> int:
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


async def _run(client: PravegaClient, options: argparse.Namespace) -> int:
    if not options.program:
        raise ConfigurationError("there is no program to run: pravega backfill run … -- PROGRAM …")
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
        print(f"failed: {name}: {error}", file=sys.stderr)
    print(f"{len(plan.waiting) - len(failures)} of {len(plan.waiting)} intervals done")
    return 1 if failures else 0


def _filled(word: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        word = word.replace(f"{{{name}}}", value)
    return word

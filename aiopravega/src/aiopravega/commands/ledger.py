"""The command `pravega ledger`: the writes in a commit ledger, their states, and a person's decisions about them."""

import argparse
import json
import sys
from collections.abc import Sequence

from aiopravega.bounded import each
from aiopravega.client import PravegaClient
from aiopravega.commands.common import (
    add_command,
    add_commit_ledger,
    add_json,
    add_yes,
    commit_ledger_of,
    only_say,
    run,
    show,
    table,
)
from aiopravega.commands.ledger_backup import add_backups
from aiopravega.errors import ConfigurationError
from aiopravega.ledger import CommitRecord, CommitState, StoredCommit
from aiopravega.ledger.commits.cleanup import expired
from aiopravega.ledger.commits.recovery import ADVICE, Inspection, Resolution, Standing, inspect, resolve
from aiopravega.names import StreamName

# Writes that are inspected together; each asks for the states of all its transactions.
_AT_ONCE = 4
_FINE = frozenset({Standing.DONE, Standing.GONE, Standing.CLOSED})


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code: 1 if `verify` finds a write that is not done, 2 after an error."""
    parser = argparse.ArgumentParser(
        prog="pravega ledger", description="The exactly-once writes that a commit ledger remembers."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    shown = add_command(commands, "show", _show, "list writes, or show all about one")
    shown.add_argument("--state", choices=[state.value for state in CommitState], help="only writes in this state")
    checked = add_command(commands, "verify", _verify, "look up the transactions of writes: what is in the streams?")
    finished = add_command(commands, "finish", _finish, "commit what drivers that died had decided and not committed")
    removed = add_command(
        commands, "expire", _expire, "remove the records of writes that need not be remembered any more"
    )
    removed.add_argument("--dry-run", action="store_true", help="only list what would be removed")
    adopted = add_command(
        commands, "adopt", _adopt, "have this ledger remember a stream's writes, instead of another one"
    )
    decided = add_command(commands, "resolve", _resolve, "decide about a write that no run can finish")
    which = decided.add_mutually_exclusive_group(required=True)
    meanings = {
        Resolution.ACCEPT: "what is in the stream is the write: mark it done, without its lost partitions",
        Resolution.DONE: "I have checked that all of it is in the stream: mark it done",
        Resolution.FORGET: "forget its newest generation, so that it can run again; remove its rows downstream first",
    }
    for resolution, meaning in meanings.items():
        which.add_argument(f"--{resolution}", dest="decision", action="store_const", const=resolution, help=meaning)
    add_yes(decided)
    backups = add_backups(commands)
    for command in (shown, checked, finished, removed, adopted, decided, *backups):
        add_commit_ledger(command)
        if command in backups:
            continue
        command.add_argument(
            "--stream", metavar="SCOPE/STREAM", required=command is adopted, help="only writes to this stream"
        )
        if command is not adopted:
            command.add_argument("--write-id", metavar="ID", required=command is decided, help="only this write")
            add_json(command)
    return run(parser.parse_args(arguments))


async def _writes(client: PravegaClient, options: argparse.Namespace) -> list[StoredCommit]:
    return _chosen([stored async for stored in commit_ledger_of(client, options).records()], client, options)


def _chosen(records: Sequence[StoredCommit], client: PravegaClient, options: argparse.Namespace) -> list[StoredCommit]:
    """The records that the options name, the oldest first."""
    scope = options.scope or client.config.scope
    stream = options.stream and (options.stream if "/" in options.stream else f"{scope}/{options.stream}")
    chosen = [
        stored
        for stored in records
        if options.write_id in (None, stored.record.write_id) and stream in (None, str(stored.record.sink))
    ]
    return sorted(chosen, key=lambda stored: stored.record.prepared_at)


async def _show(client: PravegaClient, options: argparse.Namespace) -> int:
    writes = [stored.record for stored in await _writes(client, options)]
    records = [record for write in writes for record in write.generations]
    records = [record for record in records if options.state in (None, record.state.value)]
    rows = [
        (
            record.sink,
            record.write_id,
            record.generation,
            record.state.value,
            f"{record.prepared_at:%Y-%m-%d %H:%M:%S}",
            f"{record.done_at:%Y-%m-%d %H:%M:%S}" if record.done_at else "",
            len(record.partitions),
            f"{record.total_events:,}",
            f"{record.total_bytes:,}",
        )
        for record in records
    ]
    heads = ("stream", "write id", "generation", "state", "prepared", "done", "partitions", "events", "bytes")
    text = table(heads, rows)
    if options.write_id is not None:
        for record in records:
            parts = [
                (part.partition, part.txn_id, f"{part.events:,}", f"{part.bytes:,}", part.checksum)
                for part in record.partitions
            ]
            text += f"\n\n{record.sink}, generation {record.generation}, attempt {record.attempt}\n"
            text += f"start: {record.start or 'not noted'}\nend: {record.end or 'not noted'}\n"
            text += table(("partition", "transaction", "events", "bytes", "checksum"), parts)
    return show(options, [_dumped(record) for record in records], text)


async def _verify(client: PravegaClient, options: argparse.Namespace) -> int:
    writes = await _inspect(client, options)
    rows = [
        (
            write.record.sink,
            write.record.write_id,
            write.record.generation,
            write.standing,
            _counted(write),
            ADVICE[write.standing],
        )
        for write in writes
    ]
    text = table(("stream", "write id", "generation", "stands", "transactions", "what to do"), rows)
    show(options, [_described(write) for write in writes], text)
    return 0 if all(write.standing in _FINE for write in writes) else 1


async def _finish(client: PravegaClient, options: argparse.Namespace) -> int:
    protocol = commit_ledger_of(client, options).protocol()
    for write in await _inspect(client, options):
        if write.standing is Standing.UNFINISHED:
            await protocol.finish(write.stored)
    return await _verify(client, options)


async def _adopt(client: PravegaClient, options: argparse.Namespace) -> int:
    ledger = commit_ledger_of(client, options)
    stream = StreamName.parse(options.stream, ledger.scope)
    await ledger.create()
    await ledger.mark(stream, adopt=True)
    print(f"the writes of {stream} are remembered by {ledger.scope}/{ledger.table} from now on")
    return 0


async def _expire(client: PravegaClient, options: argparse.Namespace) -> int:
    ledger = commit_ledger_of(client, options)
    # The newest witness among all records is the time, so all are read, not only the chosen ones.
    chosen = _chosen(await expired(ledger.records()), client, options)
    if not options.dry_run:
        for stored in chosen:
            await ledger.forget(stored)
    if options.json:
        print(json.dumps([_dumped(stored.record) for stored in chosen], indent=2))
        return 0
    rows = [
        (record.sink, record.write_id, f"{record.done_at:%Y-%m-%d %H:%M:%S}", f"{record.expires_at:%Y-%m-%d %H:%M:%S}")
        for record in (stored.record for stored in chosen)
    ]
    print(table(("stream", "write id", "done", "kept until"), rows))
    print(f"{len(chosen)} records {'would be' if options.dry_run else 'were'} removed", file=sys.stderr)
    return 0


async def _resolve(client: PravegaClient, options: argparse.Namespace) -> int:
    writes = await _inspect(client, options)
    if len(writes) != 1:
        raise ConfigurationError(
            f"the ledger has {len(writes)} writes {options.write_id!r}"
            + (": name the stream too, by --stream" if writes else "; see `pravega ledger show`")
        )
    [write] = writes
    said = f"{write.record.name} is {write.standing} ({_counted(write) or 'no transactions'})"
    if not options.yes:
        return only_say(f"{said}. To {options.decision} it, say --yes.")
    await resolve(client.controller, commit_ledger_of(client, options), write, options.decision)
    values = _described(write) | {"resolved": options.decision.value}
    return show(options, values, f"{said}; resolved: {options.decision}")


async def _inspect(client: PravegaClient, options: argparse.Namespace) -> list[Inspection]:
    records = await _writes(client, options)
    return await each(lambda stored: inspect(client.controller, stored), records, _AT_ONCE)


def _dumped(record: CommitRecord) -> dict[str, object]:
    """A generation as JSON; the earlier ones are listed beside it."""
    return record.model_dump(mode="json", exclude={"earlier"}) | {"generation": record.generation}


def _counted(write: Inspection) -> str:
    return ", ".join(f"{count} {state}" for state, count in sorted(write.counts.items()))


def _described(write: Inspection) -> dict[str, object]:
    record = write.record
    return {
        "stream": str(record.sink),
        "write_id": record.write_id,
        "generation": record.generation,
        "state": record.state.value,
        "standing": write.standing.value,
        "transactions": {str(partition): state.name.lower() for partition, state in sorted(write.states.items())},
        "what_to_do": ADVICE[write.standing],
    }

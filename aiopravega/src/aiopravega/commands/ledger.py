"""The command `pravega ledger`: the writes in a commit ledger, their states, and a person's decisions about them."""

from collections.abc import Sequence
from typing import Final

import click

from aiopravega.bounded import each
from aiopravega.client import PravegaClient
from aiopravega.commands.common import (
    STREAM,
    YES,
    Option,
    Options,
    check_stream,
    decided,
    scope_of,
    show,
    stream_of,
    table,
    verb,
)
from aiopravega.commands.grammar import NO, Argument, Topic
from aiopravega.commands.ledger_backup import add_backups
from aiopravega.errors import ConfigurationError
from aiopravega.ledger import DEFAULT_TABLE, CommitLedger, CommitRecord, CommitState, StoredCommit
from aiopravega.ledger.commits.cleanup import expired
from aiopravega.ledger.commits.recovery import ADVICE, Inspection, Resolution, Standing, inspect, resolve
from aiopravega.names import StreamName

# Writes that are inspected together; each asks for the states of all its transactions.
_AT_ONCE: Final = 4
_FINE: Final = frozenset({Standing.DONE, Standing.GONE, Standing.CLOSED})
_MEANINGS: Final = {
    Resolution.ACCEPT: "what is in the stream is the write: mark it done, without its lost partitions",
    Resolution.DONE: "I have checked that all of it is in the stream: mark it done",
    Resolution.FORGET: "forget its newest generation, so that it can run again; remove its rows downstream first",
}

command = Topic(name="ledger", help="The exactly-once writes that a commit ledger remembers.")
_WHERE: Final = Argument(
    "where", "[SCOPE or SCOPE/STREAM]", "all writes of a scope's ledger, or those to a stream", required=False
)
_LEDGER: Final = Option(
    ["--ledger"], metavar="SCOPE/TABLE", help=f"commit ledger; default: {DEFAULT_TABLE} of the scope that is named"
)
_WRITE_ID: Final = Option(["--write-id"], metavar="ID", help="only this write")
_ONE_WRITE: Final = Option(["--write-id"], metavar="ID", required=True, help="of the write")


async def _writes(client: PravegaClient, options: Options) -> list[StoredCommit]:
    ledger, stream = await _asked(client, options)
    chosen = _chosen([stored async for stored in ledger.records()], stream, options)
    if stream is not None and not chosen:
        await check_stream(client, stream)
    return chosen


async def _asked(client: PravegaClient, options: Options) -> tuple[CommitLedger, StreamName | None]:
    """The ledger, and the stream that is asked about; None: all streams.

    Raises:
        ConfigurationError: no scope is known, or a scope and a ledger are named.
    """
    scope, slash, _ = (options.where or "").partition("/")
    if options.ledger and scope and not slash:
        raise ConfigurationError(f"the ledger is {options.ledger}: leave {scope!r} out, or name SCOPE/STREAM")
    stream = StreamName.parse(options.where) if slash else None
    return _ledger_of(client, options, scope), stream


def _ledger_of(client: PravegaClient, options: Options, scope: str) -> CommitLedger:
    if options.ledger:
        named = StreamName.parse(options.ledger, client.config.scope)
        return client.commit_ledger(named.scope, named.stream)
    return client.commit_ledger(scope_of(client, scope), DEFAULT_TABLE)


def _chosen(records: Sequence[StoredCommit], stream: StreamName | None, options: Options) -> list[StoredCommit]:
    """The records that the options name, the oldest first; a part of a write is left out if its record is there."""
    decided = {
        (each, stored.record.write_id)
        for stored in records
        if stored.record.main is None
        for each in stored.record.streams
    }
    chosen = [
        stored
        for stored in records
        if options.write_id in (None, stored.record.write_id)
        and (stream is None or stream in stored.record.streams)
        and (stored.record.main is None or (stored.record.sink, stored.record.write_id) not in decided)
    ]
    return sorted(chosen, key=lambda stored: stored.record.prepared_at)


@verb(
    command,
    "list",
    _WHERE,
    _WRITE_ID,
    Option(["--state"], type=click.Choice([state.value for state in CommitState]), help="only writes in this state"),
    _LEDGER,
)
async def _list(client: PravegaClient, options: Options) -> int:
    """List writes: their states, and how much they wrote."""
    writes = [stored.record for stored in await _writes(client, options)]
    records = [record for write in writes for record in write.generations]
    records = [record for record in records if options.state in (None, record.state.value)]
    return show(options, [_dumped(record) for record in records], _listed(records))


def _listed(records: Sequence[CommitRecord]) -> str:
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
        for record in _by_stream(records)
    ]
    heads = ("stream", "write id", "generation", "state", "prepared", "done", "partitions", "events", "bytes")
    return table(heads, rows)


def _by_stream(records: Sequence[CommitRecord]) -> list[CommitRecord]:
    """Of a write into several streams the part of each."""
    return [record.of(stream) for record in records for stream in record.streams]


@verb(command, "show", _WHERE, _ONE_WRITE, _LEDGER)
async def _show(client: PravegaClient, options: Options) -> int:
    """Show all about a write: its generations, its cuts and its transactions."""
    writes = [stored.record for stored in await _writes(client, options)]
    if not writes:
        raise ConfigurationError(f"the ledger has no write {options.write_id!r}; see `pravega ledger list`")
    records = [record for write in writes for record in write.generations]
    text = _listed(records)
    for record in _by_stream(records):
        parts = [
            (part.partition, part.txn_id, f"{part.events:,}", f"{part.bytes:,}", part.checksum)
            for part in record.partitions
        ]
        text += f"\n\n{record.sink}, generation {record.generation}, attempt {record.attempt}\n"
        text += f"start: {record.start or 'not noted'}\nend: {record.end or 'not noted'}\n"
        text += table(("partition", "transaction", "events", "bytes", "checksum"), parts)
    tables = [
        (
            each.target,
            each.interval,
            each.generation,
            (each.landed_at and f"{each.landed_at:%Y-%m-%d %H:%M:%S}") or "waits",
        )
        for record in records
        for each in record.tables
    ]
    if tables:
        text += "\n\n" + table(("table", "interval", "generation", "has its rows"), tables)
    return show(options, [_dumped(record) for record in records], text)


@verb(command, "verify", _WHERE, _WRITE_ID, _LEDGER)
async def _verify(client: PravegaClient, options: Options) -> int:
    """Look up the transactions of writes: what is in the streams?"""
    return _verdict(await _inspect(client, options), options)


def _verdict(writes: Sequence[Inspection], options: Options) -> int:
    rows = [
        (
            ", ".join(map(str, write.record.streams)),
            write.record.write_id,
            write.record.generation,
            write.standing,
            _counted(write),
            ADVICE[write.standing],
        )
        for write in writes
    ]
    text = table(("stream", "write id", "generation", "stands", "transactions", "what to do"), rows)
    is_fine = all(write.standing in _FINE for write in writes)
    return show(options, [_described(write) for write in writes], text, yes=is_fine)


@verb(command, "finish", _WHERE, _WRITE_ID, _LEDGER, YES)
async def _finish(client: PravegaClient, options: Options) -> int:
    """Commit what drivers that died had decided and not committed."""
    ledger, _ = await _asked(client, options)
    unfinished = [write for write in await _inspect(client, options) if write.standing is Standing.UNFINISHED]
    names = ", ".join(str(write.record.name) for write in unfinished)
    if unfinished and not decided(
        options, f"{len(unfinished)} writes are committed, as their drivers decided: {names}."
    ):
        return NO
    protocol = ledger.protocol()
    for write in unfinished:
        await protocol.finish(write.stored)
    return _verdict(await _inspect(client, options), options)


@verb(command, "adopt", STREAM, _LEDGER, YES)
async def _adopt(client: PravegaClient, options: Options) -> int:
    """Have this ledger remember a stream's writes, instead of another one."""
    stream = stream_of(client, options)
    ledger = _ledger_of(client, options, stream.scope)
    name = f"{ledger.scope}/{ledger.table}"
    if not decided(options, f"{name} remembers the writes of {stream} from now on, and no other ledger does."):
        return NO
    await ledger.create()
    await ledger.mark(stream, adopt=True)
    values = {"stream": str(stream), "ledger": name}
    return show(options, values, f"the writes of {stream} are remembered by {name} from now on")


@verb(command, "expire", _WHERE, _WRITE_ID, _LEDGER, YES)
async def _expire(client: PravegaClient, options: Options) -> int:
    """Remove the records of writes that need not be remembered any more."""
    ledger, stream = await _asked(client, options)
    # The newest witness among all records is the time, so all are read, not only the chosen ones.
    chosen = _chosen(await expired(ledger.records()), stream, options)
    rows = [
        (record.sink, record.write_id, f"{record.done_at:%Y-%m-%d %H:%M:%S}", f"{record.expires_at:%Y-%m-%d %H:%M:%S}")
        for record in (stored.record for stored in chosen)
    ]
    text = table(("stream", "write id", "done", "kept until"), rows)
    if chosen and not decided(options, f"{text}\n{len(chosen)} records are removed."):
        return NO
    for stored in chosen:
        await ledger.forget(stored)
    return show(options, [_dumped(stored.record) for stored in chosen], f"{text}\n{len(chosen)} records were removed")


@verb(
    command,
    "resolve",
    _WHERE,
    _ONE_WRITE,
    *(
        Option([f"--{resolution}", "decisions"], flag_value=resolution, multiple=True, help=meaning)
        for resolution, meaning in _MEANINGS.items()
    ),
    _LEDGER,
    YES,
)
async def _resolve(client: PravegaClient, options: Options) -> int:
    """Decide about a write that no run can finish."""
    if len(options.decisions) != 1:
        raise ConfigurationError("say what is decided: --accept, --done or --forget")
    decision = Resolution(options.decisions[0])
    writes = await _inspect(client, options)
    if len(writes) != 1:
        raise ConfigurationError(
            f"the ledger has {len(writes)} writes {options.write_id!r}"
            + (": name SCOPE/STREAM first" if writes else "; see `pravega ledger list`")
        )
    [write] = writes
    said = f"{write.record.name} is {write.standing} ({_counted(write) or 'no transactions'})"
    if not decided(options, f"{said}. {decision}: {_MEANINGS[decision]}."):
        return NO
    ledger, _ = await _asked(client, options)
    await resolve(client.controller, ledger, write, decision)
    return show(options, _described(write) | {"resolved": decision.value}, f"{said}; resolved: {decision}")


async def _inspect(client: PravegaClient, options: Options) -> list[Inspection]:
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
        "streams": [str(stream) for stream in record.streams],
        "write_id": record.write_id,
        "generation": record.generation,
        "state": record.state.value,
        "standing": write.standing.value,
        "transactions": {str(partition): state.name.lower() for partition, state in sorted(write.states.items())},
        "what_to_do": ADVICE[write.standing],
    }


add_backups(command)

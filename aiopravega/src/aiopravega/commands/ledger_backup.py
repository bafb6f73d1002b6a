"""Backups of ledgers: `pravega ledger export` writes a ledger into a file, `import` fills an empty ledger from it.

A commit ledger that is older than its streams lacks writes, which would then be done twice. So the file has the end of
each stream of the ledger at the time of the export. The import is refused if a stream has grown or was made again
since, unless a person names the stream. The ledger's identity is imported as the last entry: until then, writes are
refused.
"""

import base64
import hashlib
import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import click

from aiopravega.bounded import each
from aiopravega.client import PravegaClient
from aiopravega.commands.common import YES, Option, Options, decided, show, verb
from aiopravega.commands.grammar import NO, Argument, Topic
from aiopravega.cuts import StreamCut
from aiopravega.errors import (
    ConfigurationError,
    LedgerError,
    PermissionDeniedError,
    ScopeNotFoundError,
    StreamMadeAgainError,
    StreamNotFoundError,
    TableNotFoundError,
)
from aiopravega.ledger import DEFAULT_TABLE, CommitRecord
from aiopravega.ledger.commits.keys import IDENTITY_KEY, is_record
from aiopravega.ledger.commits.stream_mark import tag_of
from aiopravega.names import StreamName
from aiopravega.read import Order

_FORMAT: Final = "pravega ledger"
_VERSION: Final = 1
_FILE: Final = click.Path(path_type=Path)
# Streams whose settings are asked for at a time.
_AT_ONCE: Final = 16
_MADE_AGAIN: Final = "was deleted and made again, so that the file knows nothing of what is in it now"


def add_backups(topic: Topic) -> None:
    """Add the commands."""
    ledger = Argument("ledger", "SCOPE or SCOPE/TABLE", f"of a scope: its {DEFAULT_TABLE}")
    accepted = Option(
        ["--accept-written"],
        multiple=True,
        metavar="SCOPE/STREAM",
        help="no write to this stream since the export will be run again; for each that has grown or was made again",
    )
    verb(topic, "export", ledger, Argument("file", "FILE", "a new one", type=_FILE))(_export)
    verb(topic, "import", ledger, Argument("file", "FILE", "of an export", type=_FILE), accepted, YES)(_import)


def _named(options: Options) -> tuple[str, str]:
    scope, slash, table = options.ledger.partition("/")
    return scope, table if slash else DEFAULT_TABLE


async def _export(client: PravegaClient, options: Options) -> int:
    """Write a ledger, whole, into a new file."""
    scope, table = _named(options)
    made = await client.describe_table(scope, table)
    identity = (await _entries(client, scope, table) or {}).get(IDENTITY_KEY)
    # The ends of the streams first: events that are written meanwhile make the file look older, never newer.
    streams = [] if identity is None else await _marked(client, identity, f"{scope}/{table}")
    if identity is not None or table == DEFAULT_TABLE:
        # An account that may not change a stream leaves it without the mark of its ledger.
        records = client.commit_ledger(scope, table).records()
        sinks = {stream async for stored in records for stream in stored.record.streams}
        streams += [sink for sink in sinks - set(streams) if await client.stream_exists(sink)]
    tails = {str(stream): (await client.tail(stream)).to_text() for stream in streams}
    entries = await _entries(client, scope, table) or {}
    content = {
        "format": _FORMAT,
        "version": _VERSION,
        "ledger": f"{scope}/{table}",
        "exported_at": datetime.now(UTC).isoformat(),
        "partitions": made.partitions,
        "key_length": made.key_length,
        "secondary_key_length": made.secondary_key_length,
        "streams": tails,
        "entries": [[_text(key), _text(value)] for key, value in entries.items()],
    }
    try:
        with options.file.open("x", encoding="utf-8") as file:
            json.dump(content | {"sha256": _digest(content)}, file, indent=1)
    except FileExistsError:
        raise ConfigurationError(f"{options.file} exists: give the name of a new file") from None
    values = {"ledger": f"{scope}/{table}", "entries": len(entries), "streams": len(tails), "file": str(options.file)}
    said = f"{scope}/{table}: {len(entries)} entries, and the ends of {len(tails)} streams, are in {options.file}"
    return show(options, values, said)


async def _import(client: PravegaClient, options: Options) -> int:
    """Fill an empty ledger from such a file."""
    scope, table = _named(options)
    content = _read(options.file)
    if content["ledger"] != f"{scope}/{table}":
        raise ConfigurationError(
            f"{options.file} is of the ledger {content['ledger']}, not of {scope}/{table}: streams know their ledger "
            "by its name. Name that one"
        )
    wanted = {base64.b64decode(key): base64.b64decode(value) for key, value in content["entries"]}
    present = await _entries(client, scope, table)
    strange = [key for key, value in (present or {}).items() if key != IDENTITY_KEY and wanted.get(key) != value]
    if strange:
        raise LedgerError(
            f"{scope}/{table} is not empty: {len(strange)} of its entries are not in {options.file}, so jobs have used "
            "it since. Keep it; or stop the jobs and remove it, with what it knows: "
            f"`pravega tables delete {scope}/{table}`"
        )
    grown = await _grown(client, content, wanted)
    if refused := sorted(grown.keys() - set(options.accept_written)):
        raise LedgerError(
            f"the file is of {content['exported_at']}, and these streams are newer: "
            + "; ".join(f"{stream} {grown[stream]}" for stream in refused)
            + ". The file does not know the writes since then: they would be done twice if their jobs run again. Put "
            "Pravega's storage back as a whole; or make sure that no write since then is run again, and name each of "
            "these streams by --accept-written"
        )
    said = f"{scope}/{table}: {len(wanted)} entries, as of {content['exported_at']}, are put there."
    if IDENTITY_KEY not in wanted and table != DEFAULT_TABLE:
        said += " Ranges that were taken after that time are not in it: they will be taken again."
    if not decided(options, f"{said} Stop the jobs that use it."):
        return NO
    await _fill(client, content, wanted, present)
    values = {"ledger": f"{scope}/{table}", "entries": len(wanted), "exported_at": content["exported_at"]}
    return show(options, values, f"{said} The ledger is there again")


async def _fill(
    client: PravegaClient, content: dict[str, Any], wanted: dict[bytes, bytes], present: dict[bytes, bytes] | None
) -> None:
    scope, table = content["ledger"].split("/")
    if present is None:
        await client.create_table(
            scope,
            table,
            key_length=content["key_length"],
            secondary_key_length=content["secondary_key_length"],
            partitions=content["partitions"],
        )
    ledger = client.table(scope, table)
    for key, value in wanted.items():
        if key != IDENTITY_KEY and key not in (present or {}):
            await ledger.put_if_absent(key, value)
    if IDENTITY_KEY in wanted:
        await ledger.put(IDENTITY_KEY, wanted[IDENTITY_KEY])


async def _grown(client: PravegaClient, content: dict[str, Any], wanted: dict[bytes, bytes]) -> dict[str, str]:
    """The streams with writes that the file does not have, each with the reason."""
    grown = {}
    for name, tail in content["streams"].items():
        stream = StreamName.parse(name)
        try:
            if await client.compare(StreamCut.from_text(tail), await client.tail(stream)) is not Order.SAME:
                grown[name] = "was written to"
        except StreamNotFoundError:
            continue  # the stream of the file is gone: no write will be compared with its records
        except StreamMadeAgainError:
            grown[name] = _MADE_AGAIN
    for record in _records(content, wanted):
        if str(record.sink) not in content["streams"] and await _is_another(client, record):
            grown[str(record.sink)] = _MADE_AGAIN
    if IDENTITY_KEY in wanted:
        for stream in await _marked(client, wanted[IDENTITY_KEY], content["ledger"]):
            if str(stream) not in content["streams"]:
                grown.setdefault(str(stream), "came to the ledger")
    return grown


def _records(content: dict[str, Any], wanted: dict[bytes, bytes]) -> list[CommitRecord]:
    """The records of writes in a file; none in the file of another kind of table."""
    is_ledger = IDENTITY_KEY in wanted or content["ledger"].endswith(f"/{DEFAULT_TABLE}")
    return [CommitRecord.from_json(value) for key, value in wanted.items() if is_ledger and is_record(key)]


async def _is_another(client: PravegaClient, record: CommitRecord) -> bool:
    """True if a stream of a record's name is there, and is not the one that was written to."""
    try:
        return (await client.controller.first_segment(record.sink)).number != record.incarnation
    except StreamNotFoundError:
        return False


async def _marked(client: PravegaClient, identity: bytes, ledger: str) -> list[StreamName]:
    """The streams with the mark of a ledger, in all scopes that the account may see."""
    wanted = tag_of(UUID(bytes=identity), ledger)

    async def is_marked(stream: StreamName) -> bool:
        try:
            return wanted in (await client.controller.stream_configuration(stream)).tags
        except StreamNotFoundError:  # deleted since it was listed
            return False

    streams = []
    for scope in await client.list_scopes():
        try:
            # All streams: a server that lists streams by a tag makes 25 tables in the scope, if it has none yet.
            streams += await client.list_streams(scope)
        except ScopeNotFoundError:  # deleted since it was listed
            continue
        except PermissionDeniedError:
            print(f"scope {scope} is left out: this account may not list its streams", file=sys.stderr)
    return [
        stream for stream, is_ours in zip(streams, await each(is_marked, streams, _AT_ONCE), strict=True) if is_ours
    ]


async def _entries(client: PravegaClient, scope: str, table: str) -> dict[bytes, bytes] | None:
    try:
        return {entry.key: entry.value async for entry in client.table(scope, table).entries()}
    except TableNotFoundError:
        return None


def _read(file: Path) -> dict[str, Any]:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{file} cannot be read: {error}") from None
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise ConfigurationError(f"{file} is not a file of `pravega ledger export`")
    if content.get("version") != _VERSION:
        raise ConfigurationError(
            f"{file} has version {content.get('version')!r:.40}, and this release reads {_VERSION}: use the release "
            "that made it"
        )
    if content.pop("sha256", None) != _digest(content):
        raise ConfigurationError(f"{file} was changed or cut off: its SHA-256 differs. Use another backup")
    return content


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _digest(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

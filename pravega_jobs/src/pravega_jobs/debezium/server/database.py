"""Rules of PostgreSQL's tables for Debezium: which of them lose values in changes, or stop Debezium or applications.

This module sends no requests.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from aiopravega.errors import ConfigurationError
from aiopravega.sizes import MAX_EVENT
from pravega_jobs.debezium.server.settings import Harm, SettingFinding

_SOURCE: Final = "debezium.source."
_INCLUDED: Final = "table.include.list"
# Settings that select tables, by their names and by their schemas: each pair includes, and excludes.
_LISTS: Final = ((_INCLUDED, "table.exclude.list"), ("schema.include.list", "schema.exclude.list"))
_FULL: Final = "full"
_DEFAULT: Final = "default"
_NOTHING: Final = "nothing"
IDENTITIES: Final = {"d": _DEFAULT, "n": _NOTHING, "f": _FULL, "i": "index"}


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the database.

    Args:
        name: with its schema.
        identity: its REPLICA IDENTITY, a value of `IDENTITIES`.
        has_key: True if it has a primary key.
        large: columns without a limit of length whose values PostgreSQL may store beside the row (TOAST).
        longest: bytes of its longest row as JSON; None: not measured.
        nulled: columns of `large` whose value Debezium writes as null if an update does not touch it.
    """

    name: str
    identity: str
    has_key: bool
    large: tuple[str, ...] = ()
    longest: int | None = None
    nulled: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Server:
    """The properties of the server that Debezium needs; `may_replicate` is Debezium's user's, None: no such user."""

    database: str
    wal_level: str
    may_replicate: bool | None


def check_connector(settings: Mapping[str, str]) -> None:
    """Check that the settings are for a database that can be inspected.

    Raises:
        ConfigurationError: the database is not PostgreSQL.
    """
    connector = settings.get(f"{_SOURCE}connector.class", "")
    if "postgres" not in connector.lower():
        raise ConfigurationError(
            f"{_SOURCE}connector.class is {connector!r}: the database can be inspected if it is PostgreSQL only. Check "
            "the settings without it"
        )


def check_measurable(settings: Mapping[str, str]) -> None:
    """Check that events have all columns of the rows, so that rows and events have the same length.

    Raises:
        ConfigurationError: settings leave columns out, or change them.
    """
    changing = [
        name for name in settings if name.startswith(f"{_SOURCE}column.") and name.endswith((".list", ".chars"))
    ]
    if changing:
        raise ConfigurationError(
            f"{changing[0]} changes what is written of a row, so its length does not follow from the table: check the "
            "database without measuring rows"
        )


def chosen(names: Collection[str], settings: Mapping[str, str]) -> tuple[set[str], list[SettingFinding]]:
    """The tables that Debezium will read, and a finding for each entry of the list that names no table.

    Args:
        names: of all tables, each with its schema.
        settings: of Debezium.

    Raises:
        ConfigurationError: a list has a pattern that is not understood.
    """
    tables = set(names)
    for number, (include, exclude) in enumerate(_LISTS):
        part = {name: name if number == 0 else name.partition(".")[0] for name in names}
        for setting, keep in ((include, True), (exclude, False)):
            patterns = _patterns(setting, settings)
            if patterns:
                tables = {one for one in tables if any(each.fullmatch(part[one]) for each in patterns) is keep}
    lonely = [each for each in _patterns(_INCLUDED, settings) if not any(each.fullmatch(name) for name in names)]
    why = "the database has no such table, or the user of this check does not see it, so that no change of it is read"
    instead = "the name of a table that is there, schema.table"
    setting = f"{_SOURCE}{_INCLUDED}"
    return tables, [SettingFinding(setting, each.pattern, Harm.LOSES, why, instead) for each in lonely]


def check_server(server: Server, settings: Mapping[str, str]) -> list[SettingFinding]:
    """Findings about the server that stop Debezium.

    Raises:
        ConfigurationError: the settings name another database.
    """
    wanted = settings.get(f"{_SOURCE}database.dbname", server.database)
    if wanted != server.database and not wanted.startswith("${"):
        raise ConfigurationError(
            f"{_SOURCE}database.dbname is {wanted!r}, but the database that was inspected is {server.database!r}"
        )
    findings = []
    if server.wal_level != "logical":
        why = "the log of the database does not have the changes of rows, and Debezium ends"
        findings.append(
            SettingFinding("wal_level", server.wal_level, Harm.STOPS, why, "logical, and restart PostgreSQL")
        )
    user = f"{_SOURCE}database.user"
    if not server.may_replicate:
        why = "there is no such user" if server.may_replicate is None else "it may not read the log of the database"
        findings.append(SettingFinding(user, settings.get(user), Harm.STOPS, why, "a user with REPLICATION"))
    return findings


def check_table(table: Table) -> list[SettingFinding]:
    """Findings about a table: values that its changes will lack, and updates or events that will fail."""
    setting = f"REPLICA IDENTITY of {table.name}"
    if table.identity == _NOTHING or (table.identity == _DEFAULT and not table.has_key):
        shown = table.identity if table.has_key else f"{table.identity}, without a primary key"
        why = "as soon as Debezium reads the table, PostgreSQL refuses each update and delete of its rows"
        return [SettingFinding(setting, shown, Harm.BREAKS, why, "FULL, or make a primary key"), *_length(table)]
    if table.identity == _FULL or not table.large:
        return _length(table)
    why = (
        f"a large value of {', '.join(table.large)} that an update does not touch is not in its event, and a change of "
        "the key leaves it behind; what a row was before is not known"
    )
    if table.nulled:
        why += f". Of {', '.join(table.nulled)} it arrives as null, which no reader can tell from a null of the row"
    return [
        SettingFinding(setting, table.identity, Harm.HIDES, why, _remedy(table)),
        *_length(table),
    ]


def _remedy(table: Table) -> str:
    if not table.nulled:
        return "FULL, if old values or keys change"
    return f"FULL, if old values or keys change, or if {', '.join(table.nulled)} may have values of over 2,000 bytes"


def _length(table: Table) -> list[SettingFinding]:
    if table.longest is None:
        return []
    both = table.identity == _FULL
    needed = table.longest * (1 + both)
    if needed <= MAX_EVENT:
        return []
    why = f"Pravega takes events of {MAX_EVENT:,} bytes at most, and Debezium ends at each start" + (
        ": with REPLICA IDENTITY FULL, an event of an update has a row twice" if both else ""
    )
    instead = f"{_SOURCE}column.exclude.list to leave a large column out"
    return [SettingFinding(f"the longest row of {table.name}", f"{table.longest:,} bytes", Harm.STOPS, why, instead)]


def _patterns(setting: str, settings: Mapping[str, str]) -> list[re.Pattern[str]]:
    patterns = []
    for text in filter(None, map(str.strip, settings.get(f"{_SOURCE}{setting}", "").split(","))):
        try:
            patterns.append(re.compile(text, re.IGNORECASE))
        except re.error as error:
            raise ConfigurationError(
                f"{text!r} of {_SOURCE}{setting} is not understood ({error}): write it in another way"
            ) from None
    return patterns

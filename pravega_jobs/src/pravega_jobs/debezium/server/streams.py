"""The streams that Debezium Server writes to, by its settings: their names must be Pravega's, and they must exist."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from aiopravega.errors import ConfigurationError
from aiopravega.names import check_name
from pravega_jobs.debezium.server.settings import Harm, SettingFinding

_SOURCE: Final = "debezium.source."
SCOPE: Final = "debezium.sink.pravega.scope"
TABLES: Final = f"{_SOURCE}table.include.list"
_ROUTERS: Final = {
    "org.apache.kafka.connect.transforms.RegexRouter": ("regex", "replacement"),
    "io.debezium.transforms.ByLogicalTableRouter": ("topic.regex", "topic.replacement"),
}
# Transforms that leave names as they are.
_OTHERS: Final = ("io.debezium.transforms.ExtractNewRecordState", "io.debezium.transforms.Filter")
_GROUP: Final = re.compile(r"\$(\d+)")


@dataclass(frozen=True, slots=True)
class WrittenStreams:
    """The names of streams that settings lead to, and why others are not known; None: all are known."""

    names: tuple[str, ...]
    not_known: str | None = None


def streams_written(settings: Mapping[str, str]) -> WrittenStreams:
    """The streams of the tables that the settings name, and of transactions, DDL and heartbeats."""
    prefix = settings.get(f"{_SOURCE}topic.prefix", "")
    tables = settings.get(TABLES)
    if not prefix:
        return WrittenStreams((), f"{_SOURCE}topic.prefix is not given")
    names, not_known = [], None
    if tables is None:
        not_known = f"{TABLES} is not given: all tables of the database are written"
    for table in (tables or "").split(","):
        if re.fullmatch(r"[\w$-]+(\.[\w$-]+)*", table.strip().replace("\\.", ".")):
            names.append(f"{prefix}.{table.strip().replace(chr(92), '')}")
        elif table.strip():
            not_known = f"{table.strip()!r} of {TABLES} is a pattern"
    connector = settings.get(f"{_SOURCE}connector.class", "").lower()
    if "postgres" not in connector and settings.get(f"{_SOURCE}include.schema.changes", "true") == "true":
        names.append(prefix)
    if settings.get(f"{_SOURCE}provide.transaction.metadata", "false") == "true":
        names.append(f"{prefix}.transaction")
    if settings.get(f"{_SOURCE}heartbeat.interval.ms", "0") != "0":
        names.append(f"{settings.get(f'{_SOURCE}topic.heartbeat.prefix', '__debezium-heartbeat')}.{prefix}")
    routed = [_routed(name, settings) for name in names]
    unknown = next((why for _, why in routed if why is not None), None)
    return WrittenStreams(tuple(dict.fromkeys(name for name, why in routed if why is None)), not_known or unknown)


def stream_of_table(prefix: str, table: str) -> str:
    """The name of a table's stream, if routers make every `_` a `-`, as Pravega needs it.

    Args:
        prefix: Debezium's `topic.prefix`.
        table: as the database calls it: `schema.table`, or `database.table`.

    Raises:
        ConfigurationError: Pravega takes no such name.
    """
    return check_name("stream", f"{prefix}.{table}".replace("_", "-"))


def check_names(streams: WrittenStreams) -> list[SettingFinding]:
    """The names that Pravega refuses."""
    found = []
    for name in streams.names:
        try:
            check_name("stream", name)
        except ConfigurationError:
            why = f"Pravega takes no stream of the name {name}"
            instead = (
                "a RegexRouter from (.*)_(.*) to $1-$2, one for each underscore of a name; for heartbeats "
                "debezium.source.topic.heartbeat.prefix"
            )
            found.append(SettingFinding("debezium.transforms", None, Harm.STOPS, why, instead))
    return found


def missing(streams: WrittenStreams, there: Collection[str]) -> list[str]:
    """The streams that do not exist; the sink makes none, and ends at the first event for one."""
    return [name for name in streams.names if name not in there]


def _routed(name: str, settings: Mapping[str, str]) -> tuple[str, str | None]:
    """A name after the transforms, or why it is not known."""
    for transform in filter(None, map(str.strip, settings.get("debezium.transforms", "").split(","))):
        at = f"debezium.transforms.{transform}."
        kind = settings.get(f"{at}type", "")
        if kind in _OTHERS:
            continue
        if kind not in _ROUTERS or f"{at}predicate" in settings:
            return name, f"{at}type is {kind or 'not given'}: which names it gives is not known"
        regex, replacement = (settings.get(f"{at}{each}", "") for each in _ROUTERS[kind])
        try:
            matched = re.fullmatch(regex, name)
            name = name if matched is None else matched.expand(_GROUP.sub(r"\\g<\1>", replacement))
        except (re.error, IndexError) as error:
            return name, f"{at}{_ROUTERS[kind][0]} is not understood ({error})"
    return name, None

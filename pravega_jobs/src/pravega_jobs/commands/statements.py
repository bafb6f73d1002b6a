"""Statements of SQL over streams, by DuckDB's own parser: what is asked, and which streams it names.

No stream is read here. What a stream cannot do is refused by name.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import duckdb

from aiopravega.errors import ConfigurationError

_STREAMS: Final = "Queries (select), insert into, create table, drop table and show tables are understood"
_WAYS: Final = {
    "UPDATE": "events of a stream do not change: insert other ones",
    "DELETE": "single events cannot be removed: `pravega streams truncate` removes the oldest",
    "COPY": "use --output FILE, or `pravega export`",
    "EXPORT": "use --output FILE, or `pravega export`",
    "EXPLAIN": "ask for the query itself",
    "MULTI": "PIVOT needs the values of its column: ON city IN ('Oslo', 'Rome')",
}


@dataclass(frozen=True, slots=True)
class Query:
    """A query, and the names of the streams that it reads, as it writes them."""

    text: str
    streams: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ShowTables:
    """A list of the streams of a scope; None: of the default one."""

    scope: str | None


@dataclass(frozen=True, slots=True)
class Insert:
    """A write of a query's rows to a stream; `columns` are names for its columns, None: they have names."""

    stream: str
    columns: tuple[str, ...] | None
    query: Query


@dataclass(frozen=True, slots=True)
class CreateTable:
    """A new stream; `text` is the statement, which DuckDB turns into columns."""

    stream: str
    text: str
    if_not_exists: bool


@dataclass(frozen=True, slots=True)
class DropTable:
    """The end of a stream."""

    stream: str
    if_exists: bool


Statement: TypeAlias = Query | ShowTables | Insert | CreateTable | DropTable


def parse(text: str) -> Statement:
    """Read one statement.

    Raises:
        ConfigurationError: it is not SQL, or there are several, or it is none of those that streams have.
    """
    with duckdb.connect() as database:
        try:
            found = database.extract_statements(text)
        except duckdb.Error as error:
            raise ConfigurationError(f"the statement is not SQL as DuckDB reads it: {error}") from None
        if len(found) != 1:
            raise ConfigurationError(f"there are {len(found)} statements: give one at a time")
        kind = found[0].type.name
        if kind == "SELECT":
            return _query(database, text)
        if kind == "INSERT":
            return _insert(database, text)
    if kind == "CREATE":
        return _create(text)
    if kind == "DROP":
        return _drop(text)
    way = _WAYS.get(kind, "see `pravega sql --help`")
    raise ConfigurationError(f"{kind} is not a statement of streams: {way}. {_STREAMS}")


def _query(database: duckdb.DuckDBPyConnection, text: str) -> Statement:
    row = database.execute("SELECT json_serialize_sql(?)", [text]).fetchall()[0]
    tree = json.loads(row[0])
    if tree["error"]:
        raise ConfigurationError(f"the query is not understood: {tree['error_message']}. {_STREAMS}")
    [statement] = tree["statements"]
    nodes = list(_nodes(statement))
    tables = [node for node in nodes if node.get("type") == "SHOW_REF" and node["query"] is None]
    shown = [_shown(node) for node in tables]
    listed = [each for each in shown if isinstance(each, ShowTables)]
    if listed:
        return listed[0]
    inner = {entry["key"].lower() for node in nodes for entry in node.get("cte_map", {}).get("map", [])}
    named = [_stream(node) for node in nodes if node.get("type") == "BASE_TABLE"]
    names = dict.fromkeys([each for each in (*named, *shown) if isinstance(each, str) and each.lower() not in inner])
    lower = [name.lower() for name in names]
    if len(set(lower)) < len(lower):
        raise ConfigurationError(f"names that differ in their case only are one table in SQL: {', '.join(names)}")
    return Query(text, tuple(names))


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    """All objects of a tree."""
    if isinstance(tree, dict):
        yield tree
        for value in tree.values():
            yield from _nodes(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from _nodes(value)


def _stream(node: dict[str, Any]) -> str:
    name: str = node["table_name"]
    if node["catalog_name"] or node["schema_name"]:
        raise ConfigurationError(_one_name(node["schema_name"], name))
    if node["at_clause"] is not None:
        raise ConfigurationError(f"{name} has AT: use --as-of, or --between")
    return name


def _one_name(scope: str, stream: str) -> str:
    return f"{scope}.{stream}: write a stream as one name in quotes, '{scope}/{stream}'"


def _shown(node: dict[str, Any]) -> str | ShowTables:
    """The stream that is described, or the list that is asked for."""
    name: str = node["table_name"]
    if node["show_type"] == "SHOW_FROM":
        return ShowTables(node["schema_name"])
    if name == '"tables"':
        return ShowTables(None)
    if name.startswith(('"', "__")):
        raise ConfigurationError(f"SHOW of {name.strip('_').strip(chr(34))} is not about streams. {_STREAMS}")
    return name


# --- statements that are no queries: DuckDB gives no tree of them, but their words ---------------------------


class _Words:
    """The words of a statement, by DuckDB's tokenizer, one after another."""

    def __init__(self, text: str) -> None:
        self._data = text.encode()
        tokens = duckdb.tokenize(text)
        ends = [*(at for at, _ in tokens[1:]), len(self._data)]
        self._words = [
            (at, self._data[at:end].decode().strip())
            for (at, kind), end in zip(tokens, ends, strict=True)
            if kind != duckdb.token_type.comment
        ]

    def next(self) -> str:
        """The next word as it is written; "" at the end."""
        return self._words[0][1] if self._words else ""

    def skip(self, *words: str) -> bool:
        """Pass these words if they are the next ones."""
        if [word.lower() for _, word in self._words[: len(words)]] != list(words):
            return False
        del self._words[: len(words)]
        return True

    def name(self) -> str:
        """Pass a name, in quotes or not.

        Raises:
            ConfigurationError: it has several parts.
        """
        _, word = self._words.pop(0)
        name = word[1:-1].replace(word[0] * 2, word[0]) if word[0] in "'\"" else word
        if self.next() == ".":
            raise ConfigurationError(_one_name(name, self._words[1][1]))
        return name

    def rest(self) -> str:
        """All that is left, as it is written."""
        return self._data[self._words[0][0] :].decode() if self._words else ""


def _insert(database: duckdb.DuckDBPyConnection, text: str) -> Insert:
    words = _Words(text)
    if not words.skip("insert", "into"):
        raise ConfigurationError("write INSERT INTO 'scope/stream' first, and WITH and all else behind it")
    stream = words.name()
    columns = None
    if words.next() == "(" and not _begins_a_query(words):
        columns = _columns(words)
    query = _query(database, words.rest())
    if not isinstance(query, Query):
        raise ConfigurationError("a list of streams cannot be inserted: select from streams")
    return Insert(stream, columns, query)


def _begins_a_query(words: _Words) -> bool:
    inner = words.rest().lstrip("( \n\t").lower()
    return inner.startswith(("select", "with", "from", "values", "table", "pivot", "unpivot"))


def _columns(words: _Words) -> tuple[str, ...]:
    words.skip("(")
    names = [words.name()]
    while words.skip(","):
        names.append(words.name())
    if not words.skip(")"):
        raise ConfigurationError(f"a list of columns has names only, in brackets, not {words.next()!r}")
    return tuple(names)


def _create(text: str) -> CreateTable:
    words = _Words(text)
    if not words.skip("create", "table"):
        raise ConfigurationError(f"a stream is made by CREATE TABLE 'scope/stream' (column type, …). {_STREAMS}")
    if_not_exists = words.skip("if", "not", "exists")
    stream = words.name()
    if words.next() != "(":
        raise ConfigurationError("CREATE TABLE has a list of columns: make the stream first, then INSERT INTO it")
    return CreateTable(stream, text, if_not_exists)


def _drop(text: str) -> DropTable:
    words = _Words(text)
    if not words.skip("drop", "table"):
        raise ConfigurationError(f"a stream is deleted by DROP TABLE 'scope/stream'. {_STREAMS}")
    if_exists = words.skip("if", "exists")
    stream = words.name()
    words.skip(";")
    if words.next():
        raise ConfigurationError(f"DROP TABLE of a stream has one name, and not {words.next()!r} behind it")
    return DropTable(stream, if_exists)

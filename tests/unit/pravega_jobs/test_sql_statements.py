"""Statements of `pravega sql`: what is understood, and what is refused, with the way out."""

import pytest

from aiopravega.errors import ConfigurationError
from pravega_jobs.commands.statements import CreateTable, DropTable, Insert, Query, ShowTables, Statement, parse
from pravega_jobs.commands.tables import columns_of_table

NESTED = """
    WITH late AS (SELECT * FROM 'a/flights' WHERE delay > (SELECT avg(delay) FROM "a/all")), a AS (FROM late)
    SELECT * FROM a JOIN 'b/carriers' c USING (carrier) WHERE 'no/stream' <> c.name
"""


@pytest.mark.parametrize(
    ("text", "streams"),
    [
        ("SELECT 1", []),
        ("FROM 'a/b'; -- all", ["a/b"]),
        ("SELECT * FROM 'a/b' x, \"a/b\" y, flights", ["a/b", "flights"]),
        (NESTED, ["a/flights", "a/all", "b/carriers"]),
        ("SELECT 1 UNION ALL (SELECT id FROM 'a/b')", ["a/b"]),
        ("DESCRIBE 'a/b'", ["a/b"]),
        ("SHOW 'a/b'", ["a/b"]),
        ("PIVOT 'a/b' ON city IN ('Oslo') USING count(*)", ["a/b"]),
        ("FROM read_csv('a/b')", []),  # DuckDB refuses it when it runs
    ],
)
def test_a_query_names_its_streams(text: str, streams: list[str]) -> None:
    found = parse(text)
    assert isinstance(found, Query)
    assert (found.text, sorted(found.streams)) == (text, sorted(streams))


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("INSERT INTO 'a/b' FROM 'c/d'", Insert("a/b", None, Query("FROM 'c/d'", ("c/d",)))),
        ('insert into "a/b" (x, "y z") VALUES (1, 2);', Insert("a/b", ("x", "y z"), Query("VALUES (1, 2);", ()))),
        ("INSERT INTO 'a/b' (SELECT 'é')", Insert("a/b", None, Query("(SELECT 'é')", ()))),
        ("INSERT /* é */ INTO b -- c\n SELECT 1", Insert("b", None, Query("SELECT 1", ()))),
        ("CREATE TABLE 'a/b' (x int)", CreateTable("a/b", "CREATE TABLE 'a/b' (x int)", False)),
        ("create table if not exists b (x int)", CreateTable("b", "create table if not exists b (x int)", True)),
        ("DROP TABLE 'a/b';", DropTable("a/b", False)),
        ("DROP TABLE IF EXISTS b", DropTable("b", True)),
        ("SHOW TABLES", ShowTables(None)),
        ("SHOW TABLES FROM 'a-scope'", ShowTables("a-scope")),
    ],
)
def test_other_statements_are_taken_to_parts(text: str, statement: Statement) -> None:
    assert parse(text) == statement


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELEC 1", "is not SQL as DuckDB reads it"),
        ("", "there are 0 statements"),
        ("SELECT 1; SELECT 2", "there are 2 statements"),
        ("SELECT * FROM a.b", "a.b: write a stream as one name in quotes, 'a/b'"),
        ("INSERT INTO a.b SELECT 1", "a.b: write a stream as one name in quotes, 'a/b'"),
        ("FROM 'a/b', 'A/b'", "names that differ in their case only"),
        ("FROM 'a/b' AT (VERSION => 1)", "a/b has AT: use --as-of"),
        ("SHOW DATABASES", "SHOW of databases is not about streams"),
        ("SHOW ALL TABLES", "SHOW of show_tables_expanded is not about streams"),
        ("PIVOT 'a/b' ON city", "PIVOT needs the values of its column"),
        ("UPDATE 'a/b' SET x = 1", "UPDATE is not a statement of streams: events of a stream do not change"),
        ("DELETE FROM 'a/b'", "`pravega streams truncate` removes the oldest"),
        ("COPY 'a/b' TO 'file'", "use --output FILE, or `pravega export`"),
        ("ATTACH 'file'", "ATTACH is not a statement of streams"),
        ("SET threads = 1", "Queries (select), insert into, create table, drop table and show tables are understood"),
        ("EXPLAIN SELECT 1", "ask for the query itself"),
        ("WITH x AS (SELECT 1) INSERT INTO 'a/b' FROM x", "write INSERT INTO 'scope/stream' first"),
        ("INSERT OR REPLACE INTO 'a/b' SELECT 1", "write INSERT INTO 'scope/stream' first"),
        ("INSERT INTO 'a/b' SELECT 1 RETURNING x", "the query is not understood"),
        ("INSERT INTO 'a/b' DEFAULT VALUES", "the query is not understood"),
        ("CREATE TABLE 'a/b' AS SELECT 1", "make the stream first, then INSERT INTO it"),
        ("CREATE VIEW v AS SELECT 1", "a stream is made by CREATE TABLE"),
        ("DROP VIEW v", "a stream is deleted by DROP TABLE"),
        ("DROP TABLE 'a/b' CASCADE", "has one name, and not 'CASCADE' behind it"),
    ],
)
def test_what_a_stream_cannot_do_is_refused_with_a_way_out(text: str, said: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        parse(text)
    assert said in str(refused.value)


def columns(text: str) -> dict[str, str]:
    """The names and types of a table's columns."""
    found = columns_of_table(CreateTable("a/b", f"CREATE TABLE 'a/b' ({text})", False))
    return {field.name: str(field.type) for field in found}


def test_a_new_table_has_the_columns_that_duckdb_reads() -> None:
    assert columns("id bigint, d decimal(10,2), seen timestamptz, many varchar[]") == {
        "id": "int64",
        "d": "decimal128(10, 2)",
        "seen": "timestamp[us, tz=UTC]",
        "many": "list<l: string>",
    }


@pytest.mark.parametrize(
    "text", ["x int NOT NULL", "x int PRIMARY KEY", "x int DEFAULT 1", "x int CHECK (x > 1)", "x foo"]
)
def test_a_promise_that_a_stream_cannot_hold_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match="a stream has no keys|does not make the columns"):
        columns(text)

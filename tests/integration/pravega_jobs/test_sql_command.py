"""`pravega sql` and `pravega export` as a person types them, against a real server."""
# long because: both commands share their options, and the streams of these tests

import json
import os
import subprocess
import sys
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from operator import itemgetter
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from tests.integration.conftest import client, scope

from aiopravega import ScalingPolicy, StreamCutRange, StreamName
from aiopravega.blocking.intervals import take
from aiopravega.commands.main import main
from aiopravega.ledger import Interval
from pravega_jobs.frames import write_arrow
from pravega_jobs.identity.names import write_of_query

__all__ = ["client", "scope"]
RIDES: list[dict[str, Any]] = [{"id": number, "city": "Rome" if number % 3 else "Oslo"} for number in range(300)]
TYPED = ["-o", "decode=json", "-o", "columns=id long, city string"]


@pytest.fixture
def typed(pravega_config, monkeypatch, terminal):
    """The exit status of a command, what it prints, and what it complains about."""
    monkeypatch.setenv("PRAVEGA_CONTROLLER_URI", pravega_config.controller_uri)

    def typed(*words):
        code = main([str(word) for word in words])
        printed = terminal.readouterr()
        return code, printed.out, printed.err

    return typed


@pytest.fixture
def write(client, scope):
    """Writes rows as JSON into a stream of the test's scope, which is made if it is missing; gives the tail then."""

    def write(stream, rows):
        name = StreamName(scope, stream)
        client.create_stream(name, ScalingPolicy.fixed(2))
        with client.writer(name) as writer:
            writer.write_many([json.dumps(row).encode() for row in rows], [str(row.get("id")) for row in rows])
        return client.tail(name)

    return write


@pytest.fixture
def cuts(write):
    """The stream `rides` of two segments: the cuts after 100 rides, and after all 300."""
    return [write("rides", RIDES[:100]), write("rides", RIDES[100:])]


@pytest.mark.usefixtures("cuts")
def test_a_query_joins_streams_and_reads_one_of_them_twice(typed, write, scope):
    write("towns", [{"city": "Oslo", "country": "Norway"}, {"city": "Rome", "country": "Italy"}])
    query = f"""
        WITH named AS (SELECT * FROM '{scope}/rides' JOIN "{scope}/towns" USING (city))
        SELECT country, count(*) AS rides, max(id) FROM named
        WHERE id NOT IN (SELECT id FROM '{scope}/rides' WHERE id < 200) GROUP BY ALL ORDER BY country
    """
    columns = ["-o", "decode=json", "-o", f"{scope}/rides:columns=id long, city string"]
    code, out, err = typed("sql", query, *columns, "-o", f"{scope}/towns:columns=city string, country string")
    assert (code, err) == (0, "")
    assert [line.split() for line in out.splitlines()] == [
        ["country", "rides", "max(id)"],
        ["Italy", "67", "299"],
        ["Norway", "33", "297"],
    ]


def test_ranges_are_between_cuts_and_up_to_a_cut(typed, cuts, scope):
    counted = ["sql", f"SELECT count(*) AS n, min(id) AS least FROM '{scope}/rides'", *TYPED, "--json"]
    first, last = (cut.to_text() for cut in cuts)
    for options, found in [
        ([], (300, 0)),
        (["--as-of", first], (100, 0)),
        (["--between", first, last], (200, 100)),
        (["--between", first, "latest"], (200, 100)),
        (["--between", "earliest", first], (100, 0)),
    ]:
        assert typed(*counted, *options) == (
            0,
            json.dumps({"n": found[0], "least": found[1]}, separators=(",", ":")) + "\n",
            "",
        )


def test_times_leave_out_events_of_other_times(typed, client, scope, write):
    noon = datetime(2026, 1, 5, 12, tzinfo=UTC)
    stream = StreamName(scope, "timed")
    write("timed", [{"at": (noon + timedelta(minutes=minute)).isoformat()} for minute in range(10)])
    client.seal_stream(stream)  # so that nothing older can come, and no watermark is waited for
    counted = ["sql", f"SELECT count(*) FROM '{stream}'", "-o", "decode=json", "-o", "columns=at timestamp"]
    timed = [*counted, "-o", "event_time=at", "--format", "csv"]

    assert typed(*timed, "--between", "2026-01-05T12:02", "2026-01-05T12:05")[:2] == (0, '"count_star()"\n3\n')
    assert typed(*timed, "--as-of", "2026-01-05T12:04")[:2] == (0, '"count_star()"\n4\n')
    code, _, err = typed(*counted, "--as-of", "2026-01-05T12:04")
    assert code == 2
    assert "name the column of the times" in err


@pytest.mark.usefixtures("cuts")
@pytest.mark.parametrize("command", ["sql", "export"])
def test_files_of_each_form_have_all_rows(typed, scope, tmp_path, command):
    def to(file):
        words = (
            ["export", f"{scope}/rides", file]
            if command == "export"
            else ["sql", f"FROM '{scope}/rides'", "--output", file]
        )
        return typed(*words, *TYPED)

    assert to(tmp_path / "rides.parquet")[0] == to(tmp_path / "rides.csv")[0] == to(tmp_path / "rides.ndjson")[0] == 0
    lines = (tmp_path / "rides.ndjson").read_text().splitlines()
    for rows in (
        pyarrow.parquet.read_table(tmp_path / "rides.parquet").to_pylist(),
        pyarrow.csv.read_csv(tmp_path / "rides.csv").to_pylist(),
        list(map(json.loads, lines)),
    ):
        assert sorted(rows, key=lambda row: row["id"]) == RIDES
    assert {path.name for path in tmp_path.iterdir()} == {"rides.parquet", "rides.csv", "rides.ndjson"}
    code, _, err = to(tmp_path / "rides.csv")
    assert code == 1
    assert "is there already: it is replaced" in err


def test_a_failed_export_leaves_no_file(typed, write, scope, tmp_path):
    write("mixed", [{"id": 1}, {"id": "one"}])
    for words in (["export", f"{scope}/mixed"], ["sql", f"FROM '{scope}/mixed'", "--output"]):
        code, _, err = typed(*words, tmp_path / "mixed.csv", "-o", "decode=json", "-o", "columns=id boolean")
        assert code == 2
        assert "MalformedEventError" in err
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_read_is_refused_by_name(typed, cuts, scope, tmp_path):
    rides, first = f"'{scope}/rides'", cuts[0].to_text()
    (tmp_path / "a.csv").write_text("id\n1\n")
    refused = [
        (f"FROM '{scope}/none'", [], "StreamNotFoundError"),
        (f"SELECT carrier FROM {rides}", [], "Fields of events become columns by decode=json"),
        (f"FROM {rides}", ["-o", "decode=json"], "decode=json needs the columns"),
        (f"FROM {rides}", ["-o", f"{scope}/other:decode=json"], "is for a stream that is not used"),
        (f"FROM {rides}", ["-o", "encoding=json"], "has no option 'encoding'"),
        (f"FROM {rides}", ["-o", "json"], "write NAME=VALUE"),
        (f"FROM {rides}", ["--format", "parquet"], "goes with --output FILE"),
        (f"FROM {rides}", ["--as-of", "yesterday"], "neither a cut"),
        (f"FROM {rides}", ["--between", first, "2026-01-05"], "give two cuts or two event times"),
        (f"FROM {rides}", ["--as-of", first, "--ahead", "1m"], "go with event times"),
        (f"FROM {rides} JOIN '{scope}/towns' USING (id)", ["--as-of", first], "a query with a cut reads one stream"),
        (f"SELECT 1 AS a, 2 AS a FROM {rides}", ["--json"], "two columns have the name 'a'"),
        (f"FROM read_csv('{tmp_path}/a.csv')", [], "file system operations are disabled"),
        (f"SELECT 'x'::INT FROM {rides}", [], "DuckDB does not run the query"),
    ]
    for query, options, said in refused:
        code, out, err = typed("sql", query, *options)
        assert (code, out) == (2, ""), query
        assert said in err, query


def events_of(client, stream):
    return [json.loads(event.data) for event in client.read(StreamCutRange(client.head(stream), client.tail(stream)))]


@pytest.mark.usefixtures("cuts")
def test_a_consumer_reads_each_interval_once_and_a_failed_one_again(typed, client, write, scope):
    stream = StreamName(scope, "rides")
    query = ["sql", f"SELECT count(*) FROM '{stream}'", "--format", "csv", "--since", "last", "--consumer", "me"]

    def found(*options):
        code, out, _ = typed(*query, *options)
        return code, out.split("\n")[1:2]

    assert found() == (0, ["300"])
    assert found() == (0, ["0"])
    write("rides", RIDES[:7])
    assert found("-o", "decode=json", "-o", "columns=id boolean")[0] == 2
    records = client.cut_ledger(scope).records("me", stream)
    assert [record.state.value for record in records] == ["done", "done", "failed"]
    write("rides", RIDES[:4])
    assert found() == (0, ["7"])
    assert client.cut_ledger(scope).records("me", stream)[-1].is_done
    assert found("--interval", "by a scheduler") == (0, ["4"])
    assert found("--interval", "by a scheduler") == (0, ["4"])


def test_what_a_killed_insert_has_written_is_not_written_again(typed, client, write, scope, cuts):
    source, sink = StreamName(scope, "rides"), StreamName(scope, "sums")
    client.create_stream(sink)
    insert = ["sql", f"INSERT INTO '{sink}' SELECT city, count(*) AS rides FROM '{source}' GROUP BY ALL", *TYPED]
    insert += ["--since", "last", "--consumer", "sums", "--json"]
    sums = [{"city": "Rome", "rides": 200}, {"city": "Oslo", "rides": 100}]
    # What is there when a run is killed after its write, and before its interval is done.
    taken = take(client, source, consumer="sums", interval="killed").__enter__()
    write_arrow(client, pa.Table.from_pylist(sums), sink, write_of_query("sums", "killed"))

    code, out, err = typed(*insert)
    assert (code, json.loads(out)) == (
        0, {"stream": str(sink), "write_id": "sql/sums/killed", "events": 2, "written": False},
    )  # fmt: skip
    assert "interval 'killed' of 'sums' is open since" in err
    assert client.cut_ledger(scope).find(Interval("sums", source, "killed")).is_done
    assert taken.range.end == cuts[1]

    write("rides", RIDES[:3])
    assert json.loads(typed(*insert)[1])["written"]
    key = itemgetter("city", "rides")
    assert sorted(map(key, events_of(client, sink))) == [("Oslo", 1), ("Oslo", 100), ("Rome", 2), ("Rome", 200)]


def test_a_query_that_follows_prints_each_interval_until_the_seal(client, write, scope, cuts, pravega_config):
    stream, sink = StreamName(scope, "rides"), StreamName(scope, "counts")
    client.create_stream(sink)
    counted = f"SELECT count(*) AS n FROM '{stream}'"
    words = ["--since", "last", "--follow", "--every", "0s", "--json", "--consumer"]
    program = "from aiopravega.commands.main import main; raise SystemExit(main())"
    environment = os.environ | {"PRAVEGA_CONTROLLER_URI": pravega_config.controller_uri}
    with ExitStack() as stack:
        reader, writer = (
            stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", program, "sql", statement, *words, consumer],
                    stdout=subprocess.PIPE,
                    env=environment,
                    text=True,
                )
            )
            for statement, consumer in ((counted, "reader"), (f"INSERT INTO '{sink}' {counted}", "writer"))
        )
        stack.callback(writer.kill)
        stack.callback(reader.kill)
        assert reader.stdout is not None
        seen = 0
        for more in ([], RIDES[:7], RIDES[:5]):
            write("rides", more)
            wanted = seen + len(more) + 300 * (not more)
            while seen < wanted:  # an interval may have a part of what is written together
                seen += json.loads(reader.stdout.readline())["n"]
            assert seen == wanted
        client.seal_stream(stream)
        rest, _ = reader.communicate(timeout=60)
        writer.communicate(timeout=60)
    assert (reader.returncode, writer.returncode) == (0, 0)
    assert [json.loads(line)["n"] for line in rest.splitlines()] in ([], [0])
    assert sum(row["n"] for row in events_of(client, sink)) == 312
    for consumer in ("reader", "writer"):
        assert all(record.is_done for record in client.cut_ledger(scope).records(consumer, stream))
    assert cuts[1] == client.cut_ledger(scope).records("reader", stream)[0].range.end


def test_rows_are_inserted_once_by_the_schema_of_the_stream(typed, scope, pravega_emulator, monkeypatch):
    monkeypatch.setenv("PRAVEGA_SCHEMA_REGISTRY_URI", pravega_emulator.schema_registry_uri)
    stream = f"{scope}/towns"
    create, drop = f"CREATE TABLE '{stream}' (name varchar, people bigint)", f"DROP TABLE '{stream}'"
    assert typed("sql", create)[:2] == (0, f"{stream} is made, with the columns name, people\n")
    listed = typed("sql", f"SHOW TABLES FROM '{scope}'", "--json")[1]
    assert [each["stream"] for each in json.loads(listed)] == [stream]
    insert = ["sql", f"INSERT INTO '{stream}' (name, people) VALUES ('Oslo', 1000), (NULL, 2)", "--write-id", "first"]
    assert typed(*insert)[1] == f"2 events are written to {stream}, as write 'first'\n"
    assert typed(*insert)[1] == f"2 events were written already to {stream}, as write 'first'\n"
    assert typed("sql", f"FROM '{stream}' ORDER BY people", "--json")[1].splitlines() == [
        '{"name":null,"people":2}',
        '{"name":"Oslo","people":1000}',
    ]
    code, _, err = typed("sql", drop)
    assert code == 1
    assert "and the schemas of its events" in err
    assert typed("sql", drop, "--yes")[0] == 0
    assert typed("sql", f"DROP TABLE IF EXISTS '{stream}'")[0] == 0
    assert typed("sql", drop, "--yes")[0] == 2


@pytest.mark.usefixtures("cuts")
def test_writes_that_could_be_wrong_are_refused_by_name(typed, client, scope):
    rides, since = f"'{scope}/rides'", ["--since", "last", "--consumer", "me"]
    insert = f"INSERT INTO {rides}"
    refused = [
        (f"{insert} SELECT 1 AS id", [], "a write needs a name"),
        (f"{insert} (a) SELECT 1, 2", ["--write-id", "a"], "names 1 columns, but the query has 2"),
        (f"{insert} SELECT 1 AS id", since, "the query has 0 (none)"),
        (f"{insert} FROM {rides} JOIN '{scope}/towns' USING (id)", since, "the next interval of one stream"),
        (f"{insert} SELECT 1 AS id", ["--write-id", "a", "--format", "csv"], "are for rows"),
        (f"INSERT INTO '{scope}/none' SELECT 1 AS id", ["--write-id", "a"], "StreamNotFoundError"),
        (f"FROM {rides}", ["--write-id", "a"], "goes with INSERT INTO"),
        (f"FROM {rides}", ["--consumer", "me"], "go with --since last"),
        (f"FROM {rides}", [*since, "--follow", "--interval", "a"], "--follow has many intervals"),
        (f"FROM {rides}", [*since, "--follow", "--format", "csv"], "--format csv has one header"),
        (f"FROM {rides}", ["--since", "last"], "goes with --consumer NAME"),
        (f"FROM {rides}", [*since, "--as-of", "latest"], "not several of them"),
        (f"CREATE TABLE '{scope}/new' (id int)", [], "has no Schema Registry"),
        (f"DROP TABLE {rides}", ["--as-of", "latest"], "are of queries"),
        (f"UPDATE {rides} SET id = 1", [], "events of a stream do not change"),
    ]
    before = client.tail(f"{scope}/rides")
    for statement, options, said in refused:
        code, out, err = typed("sql", statement, *options)
        assert (code, out) == (2, ""), statement
        assert said in err, statement
    assert client.tail(f"{scope}/rides") == before

"""`pravega groups` as a person types it, against a real server."""

import asyncio
import json
import sys
import uuid
from datetime import UTC, datetime, timedelta

import pytest

from aiopravega import ScalingPolicy, StreamCut, StreamCutRange, StreamName, TimeUnit
from aiopravega.blocking import PravegaClient
from aiopravega.commands.main import main
from aiopravega.groups import JavaCheckpoint
from aiopravega.ledger import Interval

COMMAND = "from aiopravega.commands.main import main; raise SystemExit(main())"


@pytest.fixture(autouse=True)
def controller(pravega_config, monkeypatch):
    monkeypatch.setenv("PRAVEGA_CONTROLLER_URI", pravega_config.controller_uri)


@pytest.fixture
def blocking(pravega_config):
    with PravegaClient(pravega_config) as client:
        yield client


@pytest.fixture
def stream(blocking):
    name = StreamName(f"groups-{uuid.uuid4().hex}", "stream")
    blocking.create_scope(name.scope)
    blocking.create_stream(name, ScalingPolicy.fixed(2))
    with blocking.writer(name) as writer:
        writer.write_many([b"event"] * 10, [str(number) for number in range(10)])
    return name


@pytest.fixture
def typed(capsys):
    """The exit code of a command, what it prints, and what it complains about."""

    def typed(*words):
        code = main(["groups", *map(str, words)])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return typed


def test_a_group_is_made_described_reset_and_deleted(typed, blocking, stream):
    group = f"{stream.scope}/group"
    head, tail = blocking.head(stream), blocking.tail(stream)
    size = blocking.distance(head, tail)

    assert typed("create", group, stream, "--no-checkpoints")[:2] == (0, f"{group}: made\n")
    assert typed("create", group, stream, "--no-checkpoints")[1] == f"{group}: exists already, set up so\n"
    code, out, _ = typed("lag", group, "--json")
    found = json.loads(out)
    assert (code, found["lag_bytes"], found["unread_bytes"]) == (0, size, size)
    assert "automatic checkpoints: none" in typed("show", group)[1]
    described = json.loads(typed("show", group, "--json")[1])
    assert StreamCut.from_text(described["streams"][0]["position"]) == head

    assert typed("reset", group, tail.to_text())[0] == 1
    code, out, _ = typed("reset", group, tail.to_text(), "--yes", "--json")
    assert (code, json.loads(out)["starts"]) == (0, {str(stream): tail.to_text()})
    assert json.loads(typed("list", stream.scope, "--json")[1])[0]["lag_bytes"] == 0
    assert "CheckpointError" in typed("reset", group, "--yes")[2]

    code, out, err = typed("delete", group)
    assert (code, out) == (1, "")
    assert "It is deleted.\nNothing was done. To do it, say --yes." in err
    assert typed("delete", group, "--yes")[:2] == (0, f"{group}: deleted\n")
    assert json.loads(typed("list", stream.scope, "--json")[1]) == []


def test_a_group_is_made_of_an_interval_or_of_the_tail(typed, blocking, stream):
    head, tail = blocking.head(stream), blocking.tail(stream)
    ledger = blocking.cut_ledger(stream.scope)
    ledger.create()
    ledger.record(Interval("etl", stream, "day"), StreamCutRange(head, tail), None)

    assert typed("create", f"{stream.scope}/day", stream, "--interval", "day", "--consumer", "etl")[0] == 0
    assert typed("create", f"{stream.scope}/new", stream, "--latest")[0] == 0

    groups = {each["group"]: each for each in json.loads(typed("list", stream.scope, "--json")[1])}
    assert groups[f"{stream.scope}/day"]["ends"] == {str(stream): tail.to_text()}
    assert groups[f"{stream.scope}/new"]["lag_bytes"] == 0
    assert (
        "'etl' has no interval 'night'"
        in (typed("create", f"{stream.scope}/x", stream, "--interval", "night", "--consumer", "etl")[2])
    )
    assert "--consumer goes with --interval" in typed("create", f"{stream.scope}/x", stream, "--consumer", "etl")[2]


def test_a_group_is_made_of_event_times(typed, blocking, stream):
    hours = [datetime(2026, 1, 1, hour, tzinfo=UTC) for hour in range(4)]
    marks = blocking.watermarks(stream, follow=True)
    with blocking.writer(stream) as writer:
        for hour in hours:
            writer.write_many([b"event"] * 10, [str(number) for number in range(10)])
            writer.note_time(hour)
            assert next(marks).lower == TimeUnit.MS.number(hour)
    wanted = blocking.range_for(stream, (hours[2], hours[3]))
    exact = blocking.range_for(stream, (hours[2], hours[3]), ahead=timedelta())
    assert exact.start != wanted.start
    group, times = f"{stream.scope}/group", (hours[2].isoformat(), hours[3].strftime("%Y-%m-%dT%H:%M"))

    def made(*more):
        assert typed("create", group, stream, *more)[0] == 0
        found = json.loads(typed("show", group, "--json")[1])
        assert typed("delete", group, "--yes")[0] == 0
        return found["starts"], found["ends"]

    # A time without a zone is in UTC.
    assert made("--from", times[0], "--to", times[1]) == tuple(
        {str(stream): cut.to_text()} for cut in (wanted.start, wanted.end)
    )
    assert made("--from", times[0], "--to", times[1], "--ahead", "0s")[0] == {str(stream): exact.start.to_text()}
    assert made("--from", times[0]) == ({str(stream): wanted.start.to_text()}, {})
    assert "--to and --ahead go with --from" in typed("create", group, stream, "--to", times[1])[2]
    assert "name the streams, and no cuts" in typed("create", group, wanted.start.to_text(), "--from", times[0])[2]
    assert "NotYetError" in typed("create", group, stream, "--from", times[0], "--to", "2027-01-01")[2]


def test_a_picture_of_the_lag_and_the_cuts_of_a_checkpoint(typed, blocking, stream, tmp_path):
    group = f"{stream.scope}/group"
    typed("create", group, stream)
    assert typed("lag", group, "--for", "1s", "--every", "1s")[1].count("█" * 50) == 2
    lines = typed("lag", group, "--for", "1s", "--every", "1s", "--json")[1].splitlines()
    assert [json.loads(line)["lag_bytes"] for line in lines] == [
        blocking.describe_reader_group(stream.scope, "group").lag_bytes
    ] * 2

    cut = blocking.tail(stream)
    (tmp_path / "bytes").write_bytes(JavaCheckpoint("name", {stream: cut}).to_bytes())
    assert json.loads(typed("decode", tmp_path / "bytes", "--json")[1])["cuts"] == {str(stream): cut.to_text()}
    assert typed("decode", tmp_path / "bytes", "--flink-sql")[1] == (
        f"'scope' = '{stream.scope}', 'scan.streams' = 'stream', 'scan.start-streamcuts' = '{cut.to_text()}'\n"
    )
    assert "cannot read" in typed("decode", tmp_path / "missing")[2]
    (tmp_path / "_metadata").write_bytes(bytes.fromhex("4960672d00000004") + b"what follows")
    assert "is the metadata of a savepoint of Flink" in typed("decode", tmp_path / "_metadata")[2]


def test_a_subscriber_is_listed_and_a_group_that_is_not_there_is_said(typed, blocking, stream):
    blocking.subscribe(stream, "etl")
    blocking.report(stream, "etl", blocking.tail(stream))
    etl = f"{stream.scope}/etl.stream"

    assert "published by a subscriber or a query of Spark" in typed("list", stream.scope)[1]
    assert json.loads(typed("lag", etl, "--json")[1])["lag_bytes"] == 0
    assert "a subscriber or a query of Spark publishes the position" in typed("show", etl)[1]
    assert "continues where its own checkpoint says" in typed("reset", etl, stream, "--yes")[2]
    assert typed("show", f"{stream.scope}/missing")[0] == 2
    assert "ReaderGroupNotFoundError" in typed("show", f"{stream.scope}/missing")[2]


def test_metrics_of_groups_consumers_and_streams(capsys, blocking, stream):
    size = blocking.distance(blocking.head(stream), blocking.tail(stream))
    blocking.create_reader_group(stream.scope, "group", [stream])
    ledger = blocking.cut_ledger(stream.scope)
    ledger.create()
    ends = blocking.head(stream), blocking.tail(stream)
    ledger.record(Interval("etl", stream, "day"), StreamCutRange(*ends), None)

    assert main(["metrics", stream.scope]) == 0

    lines = capsys.readouterr().out.splitlines()
    of = f'scope="{stream.scope}"'
    assert f'pravega_reader_group_lag_bytes{{group="group",{of},stream="{stream}"}} {size:.1f}' in lines
    assert f'pravega_stream_readable_bytes{{{of},stream="stream"}} {size:.1f}' in lines
    assert f'pravega_consumer_waiting_intervals{{consumer="etl",{of},stream="stream"}} 1.0' in lines
    assert "# TYPE pravega_reader_group_readers gauge" in lines
    assert main(["metrics", "no-such-scope"]) == 2


def test_the_lag_of_all_who_read_is_in_one_table(capsys, blocking, stream):
    size = blocking.distance(blocking.head(stream), blocking.tail(stream))
    blocking.create_reader_group(stream.scope, "group", [stream])
    blocking.subscribe(stream, "etl")
    blocking.report(stream, "etl", blocking.tail(stream))
    ledger = blocking.cut_ledger(stream.scope)
    ledger.create()
    ends = blocking.head(stream), blocking.tail(stream)
    ledger.record(Interval("daily", stream, "day"), StreamCutRange(*ends), None)

    assert main(["lag", stream.scope, "--json"]) == 0

    found = [(each["kind"], each["name"], each["lag_bytes"]) for each in json.loads(capsys.readouterr().out)]
    assert found == [
        ("stream", None, size), ("consumer", "daily", size), ("group", f"{stream.scope}/etl.stream", 0),
        ("group", f"{stream.scope}/group", size),
    ]  # fmt: skip
    assert main(["lag", stream.scope]) == 0
    assert "1 intervals wait" in capsys.readouterr().out

    blocking.truncate_stream(ends[1])

    assert main(["lag", stream.scope, "--json"]) == 1
    lost = {each["name"]: each["notes"] for each in json.loads(capsys.readouterr().out)}
    assert lost["daily"] == lost[f"{stream.scope}/group"] == ["retention has removed events that it has not read"]
    assert main(["lag", "no-such-scope"]) == 2

    blocking.delete_stream(stream)
    blocking.create_stream(stream, ScalingPolicy.fixed(2))

    assert main(["lag", stream.scope, "--json"]) == 1
    again = {each["name"]: each["notes"] for each in json.loads(capsys.readouterr().out)}
    assert again["daily"] == ["its stream was deleted and made again: it skips that by `pravega cuts skip`"]
    assert "was deleted and made again" in again[f"{stream.scope}/group"][0]


async def test_metrics_are_served(stream):
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", COMMAND, "metrics", stream.scope, "--serve", "0",
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    address = (await process.stdout.readline()).decode().split()[-1]
    try:
        host, port = address.removeprefix("http://").removesuffix("/metrics").split(":")

        async def get(path: str) -> str:
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            answer = (await reader.read()).decode()
            writer.close()
            return answer

        found = await get("/metrics")
        assert found.startswith("HTTP/1.0 200 OK")
        assert f'pravega_stream_segments{{scope="{stream.scope}",stream="stream"}} 2.0' in found
    finally:
        process.terminate()
        await process.wait()

"""`pravega read` and `pravega write` as a person types them, in processes of their own where pipes matter."""

import asyncio
import json
import os
import signal
import sys
import uuid
from datetime import UTC, datetime, timedelta

import pytest

from aiopravega import ScalingPolicy, StreamCut, StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.commands.main import main

COMMAND = [sys.executable, "-c", "from aiopravega.commands.main import main; raise SystemExit(main())"]


@pytest.fixture(autouse=True)
def controller(pravega_config, monkeypatch):
    monkeypatch.setenv("PRAVEGA_CONTROLLER_URI", pravega_config.controller_uri)


@pytest.fixture
def blocking(pravega_config):
    with PravegaClient(pravega_config) as client:
        yield client


@pytest.fixture
def stream(blocking):
    name = StreamName(f"typed-{uuid.uuid4().hex}", "stream")
    blocking.create_scope(name.scope)
    blocking.create_stream(name, ScalingPolicy.fixed(1))
    return name


@pytest.fixture
def typed(capsys):
    """The exit status of a command, what it prints, and what it complains about."""

    def typed(*words):
        code = main([str(word) for word in words])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return typed


async def piped(*words: str, given: bytes = b"") -> tuple[int, bytes, bytes]:
    """A process of the command: its exit status, output and errors."""
    process = await asyncio.create_subprocess_exec(
        *COMMAND, *words, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    out, err = await process.communicate(given)
    assert process.returncode is not None
    return process.returncode, out, err


def test_lines_of_files_are_written_and_read_by_cuts(typed, blocking, stream, tmp_path):
    (tmp_path / "first").write_text("a\nb\n\nc")
    (tmp_path / "second").write_bytes(b"d\ne\n")
    files = ["--file", tmp_path / "first", "--file", tmp_path / "second"]

    assert typed("write", stream, *files)[:2] == (0, "6 events are written\n")
    middle = blocking.tail(stream)
    assert typed("write", stream, "--whole", "--file", tmp_path / "second", "--json") == (
        0, json.dumps({"stream": str(stream), "written": 1}, indent=2) + "\n", "",
    )  # fmt: skip

    assert typed("read", stream)[:2] == (0, "a\nb\n\nc\nd\ne\nd\ne\n\n")
    assert typed("read", stream, "--max", "2")[1] == "a\nb\n"
    assert typed("read", stream, "--end", middle.to_text(), "--format", "hex")[1].split() == [
        "61",
        "62",
        "63",
        "64",
        "65",
    ]
    [line] = typed("read", stream, "--start", middle.to_text(), "--json")[1].splitlines()
    found = json.loads(line)
    assert (found["event"], found["segment"], found["offset"]) == ("d\ne\n", f"{stream}/0.#epoch.0", 53)
    assert blocking.fetch(found["pointer"]).data == b"d\ne\n"
    assert typed("read", stream, "--start", "latest") == (0, "", "")


def test_keys_are_taken_from_lines_or_fields(typed, blocking, stream, tmp_path):
    blocking.scale_stream(stream, 4)
    lines, fields = tmp_path / "lines", tmp_path / "fields"
    lines.write_text("".join(f"{number % 9}:{number}\n" for number in range(90)))
    fields.write_text("".join(f'{{"id": {number % 9}}}\n' for number in range(90)))

    def segments() -> dict[str, set[str]]:
        by_event: dict[str, set[str]] = {}
        for line in typed("read", stream, "--format", "json", "--json")[1].splitlines():
            event = json.loads(line)["event"]
            key = str(event["id"] if isinstance(event, dict) else event % 9)
            by_event.setdefault(key, set()).add(json.loads(line)["segment"])
        return by_event

    assert typed("write", stream, "--file", lines, "--key-separator", ":")[0] == 0
    assert typed("write", stream, "--file", fields, "--key-field", "id", "--transaction")[0] == 0
    assert {len(each) for each in segments().values()} == {1}
    assert len(set.union(*segments().values())) > 1
    before = blocking.tail(stream)
    for words, said in (
        (["--key-separator", "|"], "lines:1 has no '|' between a key and an event"),
        (["--key-field", "id"], "lines:1 is not JSON"),
        (["--key", "a", "--key-field", "id"], "give one of --key"),
        (["--whole", "--key-separator", ":"], "--whole goes with --file"),
    ):
        code, _, error = typed("write", stream, "--file", lines, *words)
        assert (code, said in error) == (2, True), error
    assert blocking.tail(stream) == before


def test_event_times_are_read_where_writers_note_them(typed, blocking, stream):
    assert "NoWatermarksError" in typed("read", stream, "--from", "2026-01-01")[2]
    hours = [datetime(2026, 1, 1, hour, tzinfo=UTC) for hour in range(3)]
    marks = blocking.watermarks(stream, follow=True)
    with blocking.writer(stream) as writer:
        for hour in hours:
            writer.write(hour.isoformat().encode())
            writer.note_time(hour + timedelta(minutes=59))
            next(marks)

    between = ["--from", hours[1].isoformat(), "--to", hours[2].isoformat(), "--ahead", "0s"]
    assert typed("read", stream, *between)[1].splitlines()[-2:] == [hour.isoformat() for hour in hours[1:]]
    assert typed("read", stream, "--from", hours[2].isoformat(), "--ahead", "0s")[1].split()[-1] == hours[2].isoformat()
    assert "not both" in typed("read", stream, *between, "--start", "latest")[2]
    assert "have no end" in typed("read", stream, *between, "--follow")[2]


def test_what_cannot_be_read_is_an_error(typed, stream, tmp_path):
    assert "StreamNotFoundError" in typed("read", f"{stream.scope}/missing")[2]
    assert "StreamNotFoundError" in typed("write", f"{stream.scope}/missing", "--file", __file__)[2]
    assert "cannot read" in typed("write", stream, "--file", "missing")[2]
    os.mkfifo(tmp_path / "pipe")
    assert "use standard input" in typed("write", stream, "--file", str(tmp_path / "pipe"))[2]
    assert typed("write", stream, "--file", __file__)[0] == 0
    assert "is not JSON" in typed("read", stream, "--format", "json")[2]


async def test_standard_input_is_written_and_a_closed_pipe_ends_quietly(stream):
    lines = b"".join(b"event %07d\n" % number for number in range(200_000))

    assert await piped("write", str(stream), "--transaction", given=lines) == (0, b"200000 events are written\n", b"")

    assert (await piped("read", str(stream)))[1] == lines
    reads = f"exec {COMMAND[0]} -c '{COMMAND[2]}' read {stream} | head -n 2"
    shell = await asyncio.create_subprocess_exec(
        "bash", "-c", f"set -o pipefail; {reads}", stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    assert await shell.communicate() == (b"event 0000000\nevent 0000001\n", b"")
    assert shell.returncode == 0


async def test_an_error_half_way_says_what_is_written(stream):
    given = b"a:1\nb:2\nno key\n"

    code, out, err = await piped("write", str(stream), "--key-separator", ":", given=given)
    assert (code, out) == (2, b"")
    assert b"0 events are written; of the next 2, up to line:2, some or all may be" in err
    assert b"line:3 has no ':'" in err
    code, _, err = await piped("write", str(stream), "--key-separator", ":", "--transaction", given=given)
    assert (code, b"nothing is written: the transaction is not committed" in err) == (2, True)


async def test_new_events_are_followed_until_the_seal_or_an_interrupt(client, stream):
    followers = [
        await asyncio.create_subprocess_exec(
            *COMMAND, "read", str(stream), "--follow", stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        for _ in range(2)
    ]
    for number in range(3):
        async with client.writer(stream) as writer:
            await writer.write(b"event %d" % number)
        for each in followers:
            assert each.stdout is not None
            assert await each.stdout.readline() == b"event %d\n" % number
    followers[0].send_signal(signal.SIGINT)
    out, said = await followers[0].communicate()
    assert (out, followers[0].returncode) == (b"", 130)
    again = said.decode().split()
    assert again[:-1] == ["to", "continue:", "pravega", "read", str(stream), "--follow", "--start"]
    assert StreamCut.from_text(again[-1]) == await client.tail(stream)

    await client.seal_stream(stream)

    assert (await followers[1].communicate(), followers[1].returncode) == ((b"", b""), 0)

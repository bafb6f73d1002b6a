"""Times that the Java client notes are read by us, and ours by the Java client's reader."""

import asyncio
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest
from tests.java.program import java_program

from aiopravega import UNBOUNDED, StreamCutRange
from aiopravega.event_time import Reach

EARLY, LATE = 1_700_000_000_000, 1_700_000_060_000


@pytest.fixture
async def java(pravega_config, tmp_path):
    """Starts the Java client: it writes the times that it is sent as lines, or prints the window that it reads."""
    started = []

    async def start(what, stream, *times) -> asyncio.subprocess.Process:
        arguments = [what, pravega_config.controller_uri, stream.scope, stream.stream, *map(str, times)]
        process = await asyncio.create_subprocess_exec(
            *java_program(Path(__file__).with_name("JavaTimes.java"), *arguments),
            cwd=tmp_path,  # one of the jars writes a log into it
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.returncode is None:
            process.kill()
            await process.wait()


@pytest.fixture
def marked(client, eventually):
    """Waits until the last mark of a stream is of a time."""

    async def wait(stream, time: int) -> None:
        async def is_marked() -> bool:
            return [mark.lower async for mark in client.watermarks(stream)][-1:] == [time]

        await eventually(is_marked)

    return wait


async def _ended(process, given: bytes | None = None) -> list[str]:
    out, errors = await process.communicate(given)
    assert process.returncode == 0, errors.decode()[-2000:]
    return [line for line in out.decode().splitlines() if line.startswith("window")]


@pytest.mark.timeout(1500)
async def test_times_that_java_notes_are_read(client, make_timed, java, marked):
    stream = await make_timed(2)
    writer = await java("write", stream)
    # One after the other: of two notes at once the server refuses one, and the client may end before it repeats it.
    for time in (EARLY, LATE):
        writer.stdin.write(b"%d\n" % time)
        await marked(stream, time)
    await _ended(writer, b"")

    found = await client.cut_at(stream, LATE)
    assert (found.reach, found.lower, found.upper) == (Reach.COMPLETE, LATE, LATE)
    events = [event.data async for event in client.read(StreamCutRange(UNBOUNDED, found.required()))]
    assert sorted(events) == [b"%d" % EARLY] * 10 + [b"%d" % LATE] * 10


@pytest.mark.timeout(1500)
async def test_times_that_we_note_are_read_by_java(client, make_timed, java, marked):
    stream = await make_timed(2)
    async with client.writer(stream) as writer:
        for time in (EARLY, LATE):
            await writer.write_many([b"event"] * 20, [str(number) for number in range(20)])
            await writer.note_time(time)
            await marked(stream, time)
        await writer.write_many([b"later"] * 20, [str(number) for number in range(20)])

    (window,) = await _ended(await java("read", stream, EARLY))

    assert window.split()[1] in (str(EARLY), str(LATE))

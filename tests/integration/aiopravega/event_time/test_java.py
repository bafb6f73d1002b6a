"""Times that the Java client notes are read by us, and ours by the Java client's reader."""

import asyncio
import subprocess
from pathlib import Path

import pytest

from aiopravega import UNBOUNDED, StreamCutRange
from aiopravega.event_time import Reach

EARLY, LATE = 1_700_000_000_000, 1_700_000_060_000


@pytest.fixture
def java(pravega_config, tmp_path):
    from pravega_emulator.fetch import ensure_jars
    from pravega_emulator.java import find_java

    command = [find_java(), "-cp", f"{ensure_jars()}/*", str(Path(__file__).with_name("JavaTimes.java"))]

    async def run(what, stream, *times) -> list[str]:
        ended = await asyncio.to_thread(
            subprocess.run,
            [*command, what, pravega_config.controller_uri, stream.scope, stream.stream, *map(str, times)],
            cwd=tmp_path,  # one of the jars writes a log into it
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr[-2000:]
        return [line for line in ended.stdout.splitlines() if line.startswith("window")]

    return run


async def test_times_that_java_notes_are_read(client, make_timed, java, eventually):
    stream = await make_timed(2)
    name = stream.scope, stream.stream

    await java("write", stream, EARLY, LATE)

    async def marked() -> bool:
        return [mark.lower async for mark in client.watermarks(*name)][-1:] == [LATE]

    await eventually(marked)
    found = await client.cut_at(*name, LATE)
    assert (found.reach, found.lower, found.upper) == (Reach.COMPLETE, LATE, LATE)
    events = [event.data async for event in client.read(StreamCutRange(UNBOUNDED, found.required()))]
    assert sorted(events) == [b"%d" % EARLY] * 10 + [b"%d" % LATE] * 10


@pytest.mark.timeout(1500)
async def test_times_that_we_note_are_read_by_java(client, make_timed, java, eventually):
    stream = await make_timed(2)
    name = stream.scope, stream.stream
    async with client.writer(*name) as writer:
        for time in (EARLY, LATE):
            await writer.write_many([b"event"] * 20, [str(number) for number in range(20)])
            await writer.note_time(time)

            async def marked(time=time) -> bool:
                return time in [mark.lower async for mark in client.watermarks(*name)]

            await eventually(marked)
        await writer.write_many([b"later"] * 20, [str(number) for number in range(20)])

    (window,) = await java("read", stream, EARLY)

    assert window.split()[1] in (str(EARLY), str(LATE))

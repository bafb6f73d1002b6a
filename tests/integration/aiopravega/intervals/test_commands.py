"""The commands as a person types them, against a real server: what they print, and the codes they end with."""

import json
import sys
import uuid
from datetime import UTC, datetime
from pathlib import Path

import pytest

from aiopravega import UNBOUNDED, PravegaConfig, ScalingPolicy, StreamCutRange, StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.commands import backfill, cuts
from aiopravega.ledger import Interval

EVENTS = 300
COPY = """
import os, pathlib, sys
from aiopravega import StreamCutRange
from aiopravega.blocking import PravegaClient
cuts = StreamCutRange.from_json({"start": os.environ["BACKFILL_START"], "end": os.environ["BACKFILL_END"]})
if os.environ["BACKFILL_INTERVAL"] == os.environ.get("FAIL"):
    sys.exit(7)
with PravegaClient() as client:
    lines = sorted(event.data.decode() for event in client.read(cuts))
since, until = os.environ["BACKFILL_SINCE"], os.environ["BACKFILL_UNTIL"]
kept = [line for line in lines if not since or since <= line < until]
pathlib.Path(sys.argv[1], sys.argv[2].replace("/", "_")).write_text("".join(f"{line}\\n" for line in kept))
"""


@pytest.fixture(autouse=True)
def controller(pravega_config: PravegaConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the commands and the programs that they run take from the environment."""
    monkeypatch.setenv("PRAVEGA_CONTROLLER_URI", pravega_config.controller_uri)


@pytest.fixture
def blocking(pravega_config: PravegaConfig):
    with PravegaClient(pravega_config) as client:
        yield client


@pytest.fixture
def stream(blocking):
    name = StreamName(f"commands-{uuid.uuid4().hex}", "stream")
    blocking.create_scope(name.scope)
    blocking.create_stream(name.scope, name.stream, ScalingPolicy.fixed(2))
    return name


@pytest.fixture
def written(blocking, stream):
    texts = [f"event {number:03}" for number in range(EVENTS)]
    with blocking.writer(stream.scope, stream.stream) as writer:
        writer.write_many([text.encode() for text in texts], texts)
    return stream


def lines_of(folder: Path) -> list[str]:
    return sorted(line for path in folder.iterdir() for line in path.read_text().splitlines())


def program(folder: Path) -> list[str]:
    return ["--", sys.executable, "-c", COPY, str(folder), "{interval}"]


def test_a_backfill_is_planned_run_shown_and_verified(written, tmp_path, monkeypatch, capfd):
    backfill_of = [str(written), "--consumer", "copy", "--parts", "3"]

    assert backfill.main(["plan", *backfill_of]) == 0
    shown = capfd.readouterr().out
    assert "to do: 3 tasks, 5,100 bytes, about 300 events" in shown
    assert backfill.main(["plan", *backfill_of, "--json"]) == 0
    assert len(json.loads(capfd.readouterr().out)["intervals"]) == 3

    folder = tmp_path / "copies"
    folder.mkdir()
    monkeypatch.setenv("FAIL", "2 of 3")
    assert backfill.main(["run", *backfill_of, *program(folder)]) == 1
    assert "failed: 2 of 3" in capfd.readouterr().err
    monkeypatch.delenv("FAIL")
    assert backfill.main(["run", *backfill_of, "--parallel", "2", *program(folder)]) == 0
    assert "1 of 1 intervals done" in capfd.readouterr().out
    assert lines_of(folder) == [f"event {number:03}" for number in range(EVENTS)]

    assert cuts.main(["list", str(written)]) == 0
    assert capfd.readouterr().out.splitlines()[1].split() == ["copy", "3", "3", "3", "of", "3"]
    assert cuts.main(["list", str(written), "--consumer", "copy"]) == 0
    assert len(capfd.readouterr().out.splitlines()) == 4
    assert cuts.main(["list", str(written), "--json"]) == 0
    assert [record["state"] for record in json.loads(capfd.readouterr().out)] == ["done"] * 3
    assert cuts.main(["verify", str(written)]) == 0
    assert "no gap, no overlap" in capfd.readouterr().out
    assert cuts.main(["plot", str(written)]) == 0
    assert "█" in capfd.readouterr().out
    picture = tmp_path / "picture.png"
    assert cuts.main(["plot", str(written), "--consumer", "copy", "--output", str(picture)]) == 0
    assert picture.stat().st_size > 10_000


def test_intervals_of_event_time_are_filtered_by_who_reads_them(blocking, stream, tmp_path, capfd):
    def write(*texts: str) -> None:
        with blocking.writer(stream.scope, stream.stream) as writer:
            writer.write_many([text.encode() for text in texts], list(texts))

    days = [f"2013-01-0{day}T12:00:00+00:00" for day in (1, 2, 3)]
    write(days[0], days[1])
    blocking.note_time(stream.scope, stream.stream, "writer", datetime(2013, 1, 1, tzinfo=UTC))
    next(iter(blocking.watermarks(stream.scope, stream.stream, follow=True)))
    write(days[2])
    blocking.seal_stream(stream.scope, stream.stream)
    backfill_of = [str(stream), "--consumer", "days", "--from", "2013-01-01", "--to", "2013-01-04", "--every", "1d"]

    assert backfill.main(["plan", *backfill_of]) == 0
    assert "to do: 3 tasks" in capfd.readouterr().out
    assert backfill.main(["run", *backfill_of, *program(tmp_path)]) == 0

    assert lines_of(tmp_path) == days
    assert sorted(path.read_text().strip() for path in tmp_path.iterdir()) == days
    assert cuts.main(["verify", str(stream), "--consumer", "days"]) == 0


def test_a_gap_ends_verify_with_a_code_of_its_own(blocking, written, capfd):
    whole = blocking.resolve(StreamCutRange(UNBOUNDED, UNBOUNDED), written)
    first, _, third = blocking.split(whole, 3)
    ledger = blocking.cut_ledger(written.scope)
    ledger.create()
    for number, taken in enumerate((first, third)):
        ledger.claim(Interval("ada", written, f"day {number}"), taken, number=number)

    assert cuts.main(["verify", str(written), "--consumer", "ada"]) == 1
    assert "gap at 'day 0' and 'day 1'" in capfd.readouterr().out
    assert cuts.main(["verify", str(written), "--json"]) == 1
    [found] = json.loads(capfd.readouterr().out)
    assert found["kind"] == "gap"
    assert 1500 < found["bytes"] < 1900


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "--parts", "2"], "no program to run"),
        (["plan", "--from", "2013-01-01"], "--from, --to and --every"),
        (["plan", "--from", "2013-01-01", "--to", "2023-01-01", "--every", "1m"], "more than 100,000"),
        (["plan", "--from", "2013-01-01", "--to", "2013-01-02", "--every", "1h"], "no watermarks"),
        (["plan", "--parts", "2", "--bytes", "3k"], "give one of the two"),
    ],
)
def test_what_cannot_work_is_told_with_an_error(written, capfd, words, message):
    assert backfill.main([words[0], str(written), "--consumer", "ada", *words[1:]]) == 2
    assert message in capfd.readouterr().err


@pytest.mark.parametrize("word", ["--start=text", "--every=1x", "--bytes=many", "--from=yesterday", "--unit=d"])
def test_a_word_that_is_none_is_told_before_anything_is_asked(word):
    with pytest.raises(SystemExit):
        backfill.main(["plan", "scope/stream", "--consumer", "ada", word])


def test_a_consumer_that_is_not_there_is_told(written, blocking, capfd):
    blocking.cut_ledger(written.scope).create()
    assert cuts.main(["list", str(written), "--consumer", "nobody"]) == 2
    assert cuts.main(["plot", str(written), "--output", "nowhere.png"]) == 2
    assert "'nobody' has no intervals" in capfd.readouterr().err

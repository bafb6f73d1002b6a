"""The commands as a person types them, against a real server: what they print, and the codes they end with."""

import json
import sys
import uuid
from datetime import UTC, datetime
from pathlib import Path

import pytest

from aiopravega import UNBOUNDED, PravegaConfig, ScalingPolicy, StreamCutRange, StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.commands.main import main
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
    blocking.create_stream(name, ScalingPolicy.fixed(2))
    return name


@pytest.fixture
def written(blocking, stream):
    texts = [f"event {number:03}" for number in range(EVENTS)]
    with blocking.writer(stream) as writer:
        writer.write_many([text.encode() for text in texts], texts)
    return stream


def lines_of(folder: Path) -> list[str]:
    return sorted(line for path in folder.iterdir() for line in path.read_text().splitlines())


def program(folder: Path) -> list[str]:
    return ["--", sys.executable, "-c", COPY, str(folder), "{interval}"]


def test_a_backfill_is_planned_run_shown_and_verified(written, tmp_path, monkeypatch, terminal):
    backfill_of = [str(written), "--consumer", "copy", "--parts", "3"]

    assert main(["backfill", "plan", *backfill_of]) == 0
    shown = terminal.readouterr().out
    assert "to do: 3 tasks, 5,100 bytes, about 300 events" in shown
    assert main(["backfill", "plan", *backfill_of, "--json"]) == 0
    assert len(json.loads(terminal.readouterr().out)["intervals"]) == 3

    folder = tmp_path / "copies"
    folder.mkdir()
    monkeypatch.setenv("FAIL", "2 of 3")
    assert main(["backfill", "run", *backfill_of, *program(folder)]) == 1
    assert "failed: 2 of 3" in terminal.readouterr().err
    assert main(["cuts", "verify", str(written), "--allow-open", "1d"]) == 1
    shown = terminal.readouterr().out
    assert "copy: 3 intervals (2 done, 0 open, 1 failed): 1 findings" in shown
    assert "failed at '2 of 3': failed at" in shown
    assert f"{sys.executable} ended with 7" in shown
    monkeypatch.delenv("FAIL")
    assert main(["backfill", "run", *backfill_of, "--parallel", "2", *program(folder)]) == 0
    assert "1 of 1 intervals done" in terminal.readouterr().out
    assert lines_of(folder) == [f"event {number:03}" for number in range(EVENTS)]

    assert main(["cuts", "list", str(written)]) == 0
    assert terminal.readouterr().out.splitlines()[1].split() == ["copy", "3", "3", "0", "0", "3", "of", "3"]
    assert main(["cuts", "list", str(written), "--consumer", "copy"]) == 0
    assert len(terminal.readouterr().out.splitlines()) == 4
    assert main(["cuts", "list", str(written), "--json"]) == 0
    assert [record["state"] for record in json.loads(terminal.readouterr().out)] == ["done"] * 3
    assert main(["cuts", "verify", str(written)]) == 0
    assert "no gap, no overlap" in terminal.readouterr().out
    assert main(["cuts", "plot", str(written)]) == 0
    assert "█" in terminal.readouterr().out


def test_intervals_of_event_time_are_filtered_by_who_reads_them(blocking, stream, tmp_path, terminal):
    def write(*texts: str) -> None:
        with blocking.writer(stream) as writer:
            writer.write_many([text.encode() for text in texts], list(texts))

    days = [f"2013-01-0{day}T12:00:00+00:00" for day in (1, 2, 3)]
    write(days[0], days[1])
    blocking.note_time(stream, "writer", datetime(2013, 1, 1, tzinfo=UTC))
    next(iter(blocking.watermarks(stream, follow=True)))
    write(days[2])
    blocking.seal_stream(stream)
    backfill_of = [str(stream), "--consumer", "days", "--from", "2013-01-01", "--to", "2013-01-04", "--every", "1d"]

    assert main(["backfill", "plan", *backfill_of]) == 0
    assert "to do: 3 tasks" in terminal.readouterr().out
    assert main(["backfill", "run", *backfill_of, *program(tmp_path)]) == 0

    assert lines_of(tmp_path) == days
    assert sorted(path.read_text().strip() for path in tmp_path.iterdir()) == days
    assert main(["cuts", "verify", str(stream), "--consumer", "days"]) == 0


def test_a_gap_ends_verify_with_a_code_of_its_own(blocking, written, terminal):
    whole = blocking.resolve(StreamCutRange(UNBOUNDED, UNBOUNDED), written)
    first, _, third = blocking.split(whole, 3)
    ledger = blocking.cut_ledger(written.scope)
    ledger.create()
    for number, taken in enumerate((first, third)):
        ledger.claim(Interval("ada", written, f"day {number}"), taken, number=number)
        ledger.finish(Interval("ada", written, f"day {number}"))

    assert main(["cuts", "verify", str(written), "--consumer", "ada"]) == 1
    assert "gap at 'day 0' and 'day 1'" in terminal.readouterr().out
    assert main(["cuts", "verify", str(written), "--json"]) == 1
    [consumer] = json.loads(terminal.readouterr().out)
    assert consumer["intervals"] == {"done": 2, "open": 0, "failed": 0}
    [found] = consumer["findings"]
    assert found["kind"] == "gap"
    assert 1500 < found["bytes"] < 1900


def test_an_interval_that_was_handed_out_and_not_done_ends_verify_with_1(blocking, written, terminal):
    ledger = blocking.cut_ledger(written.scope)
    ledger.create()
    interval = Interval("ada", written, "monday")
    ledger.record(interval, blocking.resolve(StreamCutRange(UNBOUNDED, UNBOUNDED), written), after=None, by="job 7")
    asked = ["verify", str(written), "--consumer", "ada"]

    assert main(["cuts", *asked]) == 1
    shown = terminal.readouterr().out
    assert "ada: 1 intervals (0 done, 1 open, 0 failed): 1 findings" in shown
    assert "open at 'monday': handed out at" in shown
    assert "job 7" in shown
    assert main(["cuts", *asked, "--allow-open", "1h"]) == 0
    assert "no gap, no overlap" in terminal.readouterr().out
    ledger.finish(interval)
    assert main(["cuts", *asked]) == 0
    terminal.readouterr()

    again = ["reopen", str(written), "--consumer", "ada", "--interval", "monday"]
    assert main(["cuts", *again]) == 1
    assert "will be processed again\nNothing was done. To do it, say --yes." in terminal.readouterr().err
    assert main(["cuts", *asked]) == 0
    assert main(["cuts", *again, "--yes", "--reason", "the code was mended"]) == 0
    assert main(["cuts", "list", str(written), "--consumer", "ada"]) == 0
    assert "the code was mended" in terminal.readouterr().out
    assert main(["cuts", *asked]) == 1
    assert main(["cuts", *again[:-1], "tuesday", "--yes"]) == 2


def taken_by_ada(blocking, written):
    """A chain of two intervals, of which the first is done; the tail of the stream is behind it."""
    whole = blocking.resolve(StreamCutRange(UNBOUNDED, UNBOUNDED), written)
    first, second, _ = blocking.split(whole, 3)
    ledger = blocking.cut_ledger(written.scope)
    ledger.create()
    days = [Interval("ada", written, day) for day in ("monday", "tuesday")]
    ledger.record(days[0], first, after=None)
    ledger.record(days[1], second, after=ledger.last(days[1]), chained=True)
    ledger.finish(days[0])
    return ledger, days, whole


def test_what_is_gone_is_skipped_on_request_and_reported_with_its_bytes(blocking, written, terminal):
    ledger, days, whole = taken_by_ada(blocking, written)
    of_ada = [str(written), "--consumer", "ada"]
    assert main(["cuts", "skip", *of_ada]) == 0
    assert "can continue" in terminal.readouterr().out
    lost = ledger.find(days[1]).range
    blocking.truncate_stream(whole.end)
    assert main(["cuts", "verify", *of_ada, "--allow-open", "1d"]) == 1
    assert "lost at 'tuesday'" in terminal.readouterr().out

    for words in ([], ["--yes"]):
        assert main(["cuts", "skip", *of_ada, *words]) == (0 if words else 1)
        printed = terminal.readouterr()
        shown = printed.out + printed.err
        assert "interval 'tuesday' is open:" in shown
        assert "is the last:" in shown
        assert shown.count("bytes of it are gone") == 1
        assert shown.count("bytes after it are gone") == 1
        assert ("Nothing was done" in shown) is not bool(words)

    assert main(["cuts", "verify", *of_ada]) == 0
    assert "2 skipped" in terminal.readouterr().out
    assert ledger.last(days[1]).end == whole.end
    assert ledger.find(days[1]).range == lost
    assert main(["cuts", "skip", *of_ada]) == 0
    assert "can continue" in terminal.readouterr().out


def test_a_consumer_of_a_recreated_stream_continues_or_is_forgotten(blocking, written, terminal):
    ledger, days, _ = taken_by_ada(blocking, written)
    of_ada = [str(written), "--consumer", "ada"]
    blocking.delete_stream(written)
    blocking.create_stream(written, ScalingPolicy.fixed(2))
    with blocking.writer(written) as writer:
        writer.write_many([b"new"] * 10)
    plain = f"stream {written} was deleted and made again on {datetime.now(UTC).date().isoformat()}T"

    assert main(["cuts", "verify", *of_ada]) == 1
    shown = terminal.readouterr().out
    assert plain in shown
    assert "; the range of interval 'tuesday' of 'ada'" in shown
    assert "belongs to the deleted one" in shown
    assert "does the end lie before the start" not in shown
    assert main(["cuts", "skip", *of_ada, "--yes"]) == 0
    assert plain in terminal.readouterr().out
    assert main(["cuts", "verify", *of_ada]) == 0
    assert ledger.last(days[0]).end == blocking.head(written)

    terminal.readouterr()
    for words in ([], ["--yes"]):
        assert ledger.records("ada", written)
        assert main(["cuts", "forget", *of_ada, *words]) == (0 if words else 1)
        printed = terminal.readouterr()
        shown = printed.out + printed.err
        assert "3 intervals (1 done, 2 skipped) are forgotten" in shown
        assert "the stream has 110 bytes from" in shown
    assert ledger.records("ada", written) == []
    assert main(["cuts", "forget", *of_ada]) == 2


def test_one_interval_is_skipped_although_it_can_be_read(blocking, written, terminal):
    ledger, days, _ = taken_by_ada(blocking, written)
    of_ada = [str(written), "--consumer", "ada"]
    assert main(["cuts", "skip", *of_ada, "--interval", "monday"]) == 2
    assert "is done: only what waits can be skipped" in terminal.readouterr().err
    assert main(["cuts", "skip", *of_ada, "--interval", "tuesday", "--yes"]) == 0
    assert "none of it is gone; " in terminal.readouterr().out
    assert not ledger.find(days[1]).is_waiting
    assert main(["cuts", "verify", *of_ada]) == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "--parts", "2"], "Missing argument '-- PROGRAM...'"),
        (["plan", "--from", "2013-01-01"], "--from, --to and --every"),
        (["plan", "--from", "2013-01-01", "--to", "2023-01-01", "--every", "1m"], "more than 100,000"),
        (["plan", "--from", "2013-01-01", "--to", "2013-01-02", "--every", "1h"], "no watermarks"),
        (["plan", "--parts", "2", "--bytes", "3k"], "give one of the two"),
    ],
)
def test_what_cannot_work_is_reported_with_an_error(written, terminal, words, message):
    assert main(["backfill", words[0], str(written), "--consumer", "ada", *words[1:]]) == 2
    assert message in terminal.readouterr().err


@pytest.mark.parametrize("word", ["--start=text", "--every=1x", "--bytes=many", "--from=yesterday", "--unit=d"])
def test_a_wrong_argument_is_reported_before_any_request(word, terminal):
    assert main(["backfill", "plan", "scope/stream", "--consumer", "ada", word]) == 2
    assert f"Invalid value for '{word.partition('=')[0]}'" in terminal.readouterr().err


def test_an_unknown_consumer_is_reported(written, blocking, terminal):
    blocking.cut_ledger(written.scope).create()
    assert main(["cuts", "list", str(written), "--consumer", "nobody"]) == 2
    assert main(["cuts", "plot", str(written), "--consumer", "nobody"]) == 2
    assert "'nobody' has no intervals" in terminal.readouterr().err

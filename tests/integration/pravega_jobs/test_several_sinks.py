"""Writes of frames into several streams on a real server: decided together, done once, and refused by name."""

import json
import signal
import subprocess
import sys
import uuid

import pyarrow as pa
import pytest
from tests.faults.sink_writes import SCOPE, STREAMS, write, wrong
from tests.faults.steps import Steps
from tests.integration.conftest import client, scope

from aiopravega import ScalingPolicy, StreamCutRange, StreamName
from aiopravega.errors import (
    ConfigurationError,
    GenerationError,
    NotVisibleError,
    PartialCommitError,
    SinksError,
    StreamNotFoundError,
    WriteClosedError,
    WriteIdReusedError,
)
from aiopravega.ledger import CommitState
from aiopravega.ledger.commits.closing import close_write, reopen_write
from pravega_jobs.frames import write_arrow, write_by_column, write_streams

__all__ = ["client", "scope"]
WRITE = "rides of 2026-01-05"
# A write into three streams has so many steps at least: two for each request.
FEWEST = 150


@pytest.fixture
def sinks(client, scope):
    """Three streams of two segments."""
    names = [StreamName(scope, name) for name in ("rides", "late", "errors")]
    for name in names:
        assert client.create_stream(name, ScalingPolicy.fixed(2))
    return names


def table(name, count=20):
    return pa.Table.from_pylist([{"id": number, "of": name, "routing_key": str(number % 5)} for number in range(count)])


def tables(sinks, count=20):
    return {str(sink): table(sink.stream, count) for sink in sinks}


@pytest.fixture
def ids_in(client):
    def ids_in(stream):
        cuts = StreamCutRange(client.head(stream), client.tail(stream))
        found = [json.loads(event.data) for event in client.read(cuts)]
        assert {row["of"] for row in found} <= {stream.stream}
        return sorted(row["id"] for row in found)

    return ids_in


def test_each_stream_gets_its_rows_once_however_often_it_is_written(client, sinks, ids_in):
    first = write_streams(client, tables(sinks), WRITE)
    again = write_streams(client, dict(reversed(tables(sinks).items())), WRITE)

    assert (first.by_this_try, again.by_this_try) == (True, False)
    assert again.record == first.record
    assert first.record.streams == tuple(sorted(sinks, key=str))
    assert first.record.total_events == 60
    for sink in sinks:
        assert ids_in(sink) == list(range(20))
        [part] = client.written(sink, WRITE)
        assert (part.sink, part.total_events, part.state) == (sink, 20, CommitState.DONE)
        assert sum(1 for _ in client.read(client.range_of_write(part))) == 20
        assert len(list(client.read_visible(sink, WRITE))) == 20


def test_rows_go_to_the_streams_of_a_columns_values(client, sinks, ids_in):
    rows = pa.concat_tables([table(sink.stream) for sink in sinks]).append_column(
        "to", pa.array([sink.stream for sink in sinks for _ in range(20)]).dictionary_encode()
    )
    shuffled = rows.take([*range(0, 60, 2), *range(1, 60, 2)])
    streams = {sink.stream: sink for sink in sinks}

    done = write_by_column(client, shuffled.to_reader(max_chunksize=7), "to", streams, WRITE)

    assert [ids_in(sink) for sink in sinks] == [list(range(20))] * 3
    assert not write_by_column(client, shuffled, "to", streams, WRITE).by_this_try
    assert done.record.total_events == 60
    for event in client.read_visible(sinks[0], WRITE):
        assert "to" not in json.loads(event.data)


def test_a_value_without_a_stream_is_refused_and_nothing_is_written(client, sinks, ids_in):
    rows = table("rides").append_column("to", pa.array(["rides"] * 19 + ["lost"]))

    with pytest.raises(ConfigurationError, match=r"row 19 has 'lost' in column 'to'"):
        write_by_column(client, rows, "to", {"rides": sinks[0], "late": sinks[1]}, WRITE)
    nulls = table("rides").append_column("to", pa.array(["rides"] * 5 + [None] * 15))
    with pytest.raises(ConfigurationError, match="row 5 has None"):
        write_by_column(client, nulls.to_reader(max_chunksize=4), "to", {"rides": sinks[0]}, WRITE)
    with pytest.raises(ConfigurationError, match="no one column 'region'"):
        write_by_column(client, rows, "region", {"rides": sinks[0]}, WRITE)
    assert ids_in(sinks[0]) == []
    assert client.written(sinks[0], WRITE) == []


def test_a_stream_without_rows_is_one_of_the_write(client, sinks, ids_in):
    given = tables(sinks) | {str(sinks[2]): table("errors", 0)}

    write_streams(client, given, WRITE)

    assert ids_in(sinks[2]) == []
    assert client.written(sinks[2], WRITE)[0].total_events == 0
    assert list(client.read_visible(sinks[2], WRITE)) == []
    with pytest.raises(WriteIdReusedError, match="errors is done already"):
        write_streams(client, tables(sinks), WRITE)


def test_a_write_without_any_rows_is_done(client, sinks):
    assert write_streams(client, tables(sinks, 0), WRITE).record.state is CommitState.DONE
    assert not write_streams(client, tables(sinks, 0), WRITE).by_this_try


def test_other_rows_are_refused_with_the_stream_that_differs(client, sinks, ids_in):
    write_streams(client, tables(sinks), WRITE)

    with pytest.raises(WriteIdReusedError, match=f"to {sinks[1]} is done already, with other rows"):
        write_streams(client, tables(sinks) | {str(sinks[1]): table("late", 21)}, WRITE)
    assert ids_in(sinks[1]) == list(range(20))


def test_other_streams_under_the_id_are_refused_by_name(client, sinks, ids_in):
    rides, late, errors = sinks
    write_streams(client, tables([rides, late]), WRITE)

    for others in ([late], [rides], [rides, late, errors], [rides, errors], [errors, late]):
        with pytest.raises(SinksError, match="the sinks of a write are decided together"):
            write_streams(client, tables(others), WRITE)
    with pytest.raises(SinksError, match=f"{rides} has a part of it, and {late} has its record"):
        write_arrow(client, table("rides"), rides, WRITE)
    write_arrow(client, table("errors"), errors, WRITE)
    with pytest.raises(SinksError):
        write_streams(client, tables([errors, late]), WRITE)
    assert [ids_in(sink) for sink in sinks] == [list(range(20))] * 3


def test_all_streams_get_the_next_generation(client, sinks, ids_in):
    write_streams(client, tables(sinks), WRITE)
    with pytest.raises(GenerationError, match="the next one is rebuild=2"):
        write_streams(client, tables(sinks), WRITE, generation=3)

    second = write_streams(client, tables(sinks, 7), WRITE, generation=2)

    assert second.record.generation == 2
    assert not write_streams(client, tables(sinks), WRITE).by_this_try
    for sink in sinks:
        assert ids_in(sink) == sorted([*range(20), *range(7)])
        first, newest = client.written(sink, WRITE)
        assert [len(list(client.read(client.range_of_write(part)))) for part in (first, newest)] == [20, 7]
        assert client.visible_write(sink, WRITE, generation=1).total_events == 60


def test_streams_of_several_scopes_need_a_ledger_by_name(client, sinks, scope):
    other = StreamName(f"{scope}-other", "rides")
    client.create_scope(other.scope)
    client.create_stream(other)
    rows = {sinks[0]: table("rides"), other: table("rides")}

    with pytest.raises(ConfigurationError, match=f"scopes {scope}, {other.scope}"):
        write_streams(client, rows, WRITE)
    write_streams(client, rows, WRITE, ledger=f"{scope}/commit-ledger")

    assert len(list(client.read_visible(other, WRITE, ledger=f"{scope}/commit-ledger"))) == 20


def test_a_write_into_a_stream_that_is_not_there_leaves_nothing(client, sinks, ids_in, scope):
    with pytest.raises(StreamNotFoundError):
        write_streams(client, tables(sinks) | {f"{scope}/missing": table("missing")}, WRITE)
    assert ids_in(sinks[0]) == []
    with pytest.raises(ConfigurationError, match="none is given"):
        write_streams(client, {}, WRITE)


def test_a_stream_made_again_is_refused_while_others_have_their_parts(client, sinks, ids_in):
    write_streams(client, tables(sinks), WRITE)
    client.delete_stream(sinks[0])
    client.create_stream(sinks[0])

    with pytest.raises(PartialCommitError, match=f"{sinks[0]} was deleted and made again"):
        write_streams(client, tables(sinks), WRITE)
    for sink in sinks[1:]:
        client.delete_stream(sink)
        client.create_stream(sink)
    write_streams(client, tables(sinks), WRITE)
    assert [ids_in(sink) for sink in sinks] == [list(range(20))] * 3


def test_a_closed_write_is_refused_until_it_is_opened(client, sinks, ids_in):
    ledger = client.commit_ledger(sinks[0].scope)
    write_streams(client, tables(sinks), "another")
    commits = ledger.asynchronous

    for sink in sinks:
        assert client.run(close_write(commits.protocol(), commits, sink, WRITE)) is None
    with pytest.raises(WriteClosedError, match="another run has taken over"):
        write_streams(client, tables(sinks), WRITE)
    for sink in sinks:
        client.run(reopen_write(commits, sink, WRITE))
    write_streams(client, tables(sinks), WRITE)
    done = [client.run(close_write(commits.protocol(), commits, sink, WRITE)) for sink in sinks]

    assert [record.total_events for record in done] == [60, 60, 60]
    assert [ids_in(sink) for sink in sinks] == [sorted([*range(20)] * 2)] * 3


def test_a_write_that_nobody_has_begun_is_not_visible(client, sinks):
    write_streams(client, tables(sinks), "another")

    with pytest.raises(NotVisibleError, match="does not know the write"):
        client.visible_write(sinks[0], WRITE, within=0.2)
    with pytest.raises(NotVisibleError, match="does not know generation 2"):
        client.visible_write(sinks[0], "another", generation=2)


@pytest.fixture
def killed(tmp_path, pravega_config):
    """Writes into three streams in a process that is killed at a step, from 1 on; False if it came to its end."""
    steps = Steps(tmp_path)
    command = [sys.executable, "-m", "tests.faults.sink_writes", pravega_config.controller_uri, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:

        def killed(name, step):
            steps.plan(step)
            assert program.stdout is not None
            print(name, file=program.stdin, flush=True)
            status = int(program.stdout.readline())
            assert status in (0, -signal.SIGKILL)
            return status != 0

        yield killed
        program.terminate()


@pytest.mark.parametrize("every", [53, pytest.param(1, marks=[pytest.mark.slow, pytest.mark.timeout(3600)])])
def test_a_write_killed_twice_at_a_request_is_in_all_streams_once(client, killed, every):
    client.create_scope(SCOPE)
    for stream in STREAMS:
        client.create_stream(f"{SCOPE}/{stream}", ScalingPolicy.fixed(2))
    run = uuid.uuid4().hex
    names = [f"{run} first"]
    write(client, names[0])
    for step in range(1, 1000, every):
        names.append(f"{run} {step}")
        if not killed(names[-1], step):
            break
        killed(names[-1], step)
        write(client, names[-1])
    assert step > FEWEST

    cuts = {stream: [client.head(f"{SCOPE}/{stream}"), client.tail(f"{SCOPE}/{stream}")] for stream in STREAMS}
    found = {stream: [event.data for event in client.read(StreamCutRange(*ends))] for stream, ends in cuts.items()}
    own = {stream: [event for event in events if run.encode() in event] for stream, events in found.items()}
    assert list(wrong(own, dict.fromkeys(names, True))) == []

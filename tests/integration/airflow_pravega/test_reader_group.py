"""A sensor that waits for a reader group of Java, and operators that make, move and delete groups, in real DAG runs."""

from functools import partial

import pytest
from tests.java.peer import JavaGroups

from airflow_pravega.operators.reader_group import (
    PravegaCreateReaderGroupOperator,
    PravegaDeleteReaderGroupOperator,
    PravegaResetReaderGroupOperator,
)
from airflow_pravega.sensors.reader_group import PravegaReaderGroupSensor

SOON = 0.1
EVENTS = 20


@pytest.fixture(scope="module")
def java(pravega_config, tmp_path_factory):
    with JavaGroups(pravega_config.controller_uri, tmp_path_factory.mktemp("java")) as peer:
        yield peer


@pytest.fixture
def group(client, stream):
    with client.writer(stream) as writer:
        for number in range(EVENTS):
            writer.write(b"%d" % number)
    # Beside load a reading takes longer than the time between two automatic checkpoints.
    client.create_reader_group(stream.scope, "group", [stream], checkpoint_interval=None)
    return f"{stream.scope}/group"


@pytest.fixture
def read(java, stream):
    """Has a Java reader read some events, and say how far it is."""

    def read(events):
        java.ask("open", scope=stream.scope, group="group", reader="one")
        found = java.ask("read", reader="one", events=events, seconds=200)["read"]
        java.ask("close", reader="one")
        return [each["event"] for each in found if "event" in each]

    return read


@pytest.mark.parametrize("deferrable", [True, False])
def test_a_group_is_waited_for_until_it_has_passed_a_cut(run_task, client, stream, group, read, deferrable):
    tail = client.tail(stream)

    class Announced(PravegaReaderGroupSensor):
        """One whose group reads on when it has been seen."""

        def poke(self, context):
            found = super().poke(context)
            if not found:
                self.go_on()
            return found

        def wait_with(self, *asked, **own):
            self.go_on()
            super().wait_with(*asked, **own)

        def go_on(self):
            assert len(read(EVENTS)) == EVENTS

    make = partial(
        Announced, group=group, past={"start": tail.to_text(), "end": tail.to_text()}, max_lag_bytes=0,
        deferrable=deferrable, poll_interval=SOON, poke_interval=SOON,
    )  # fmt: skip
    result = run_task(make).result()

    assert result == {
        "group": group, "checkpoint": None, "lag_bytes": 0, "unread_bytes": 0, "cuts": {str(stream): tail.to_text()}
    }  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"past": "{{ 'no' }}"}, "is not the text of a StreamCut"),
        ({"group": "missing/group", "max_lag_bytes": 0}, "reader group missing/group does not exist"),
        ({}, "there is nothing to wait for"),
    ],
)
def test_what_cannot_be_waited_for_fails_for_good(run_task, group, capsys, arguments, message):
    run = run_task(partial(PravegaReaderGroupSensor, **{"group": group, **arguments}))
    assert (run.state(), run.tries()) == ("failed", 1)
    assert message in capsys.readouterr().out


def test_a_group_is_made_reset_and_deleted(run_task, client, stream, group, read):
    head, tail = client.head(stream), client.tail(stream)
    other = f"{stream.scope}/other"
    span = {"start": head.to_text(), "end": tail.to_text()}
    make = partial(PravegaCreateReaderGroupOperator, group=other, parts=[span])
    assert run_task(make).result() is True
    assert client.describe_reader_group(stream.scope, "other").unread_bytes == client.distance(head, tail)

    assert len(read(EVENTS)) == EVENTS
    reset = partial(PravegaResetReaderGroupOperator, group=group, parts=[head.to_text()])
    assert run_task(reset).result() == {str(stream): head.to_text()}
    assert len(read(EVENTS)) == EVENTS

    delete = partial(PravegaDeleteReaderGroupOperator, group=other, if_not_exists="ignore")
    assert run_task(delete).result() is True
    assert client.reader_groups(stream.scope) == ["group"]


def test_a_reset_under_a_reader_fails_and_names_it(run_task, java, stream, group, capsys):
    java.ask("open", scope=stream.scope, group="group", reader="at-work")
    run = run_task(partial(PravegaResetReaderGroupOperator, group=group, parts=[str(stream)]))
    assert (run.state(), run.tries()) == ("failed", 1)
    assert "its readers 'at-work' are online" in capsys.readouterr().out

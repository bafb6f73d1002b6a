"""A sensor that waits for a transaction, in real DAG runs."""

import asyncio
import json
import uuid
from functools import partial
from pkgutil import resolve_name

import pytest

from aiopravega import PravegaClient
from airflow_pravega.polling.poller import _pollers
from airflow_pravega.sensors.transaction import PravegaTransactionSensor
from airflow_pravega.triggers.transaction import PravegaTransactionTrigger

SOON = 0.1
PATIENCE = 300


@pytest.fixture
def transaction(client, stream):
    opened = client.open_transaction(stream)
    opened.write(b"event")
    opened.flush()
    return opened


@pytest.fixture
def sensor(stream, transaction):
    return partial(
        PravegaTransactionSensor,
        stream=str(stream),
        transaction=str(transaction.txn_id),
        poll_interval=SOON,
        poke_interval=SOON,
    )


@pytest.mark.parametrize("deferrable", [True, False])
def test_a_commit_is_waited_for(run_task, sensor, stream, transaction, deferrable):
    class Announced(PravegaTransactionSensor):
        """One that commits when it has seen the transaction open."""

        def poke(self, context):
            found = super().poke(context)
            transaction.commit()
            return found

        def wait_with(self, *asked, **own):
            transaction.commit()
            super().wait_with(*asked, **own)

    announced = partial(Announced, **sensor.keywords, deferrable=deferrable)
    assert run_task(announced).result() == {
        "stream": str(stream),
        "transaction": str(transaction.txn_id),
        "state": "committed",
    }


@pytest.mark.parametrize("deferrable", [True, False])
def test_an_abort_fails_for_good_by_name(run_task, sensor, transaction, capsys, deferrable):
    transaction.abort()
    run = run_task(partial(sensor, deferrable=deferrable))
    assert (run.state(), run.tries()) == ("failed", 1)
    assert f"TransactionAbortedError: transaction {transaction.txn_id}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"transaction": str(uuid.UUID(int=7))}, "knows no transaction 00000000-0000-0000-0000-000000000007"),
        ({"stream": "missing/stream"}, "there is no stream missing/stream"),
        ({"transaction": "{{ 'no' }}"}, "must be the id of a transaction"),
    ],
)
def test_what_will_never_be_committed_is_refused(run_task, sensor, capsys, arguments, message):
    run = run_task(partial(sensor, **arguments))
    assert (run.state(), run.tries()) == ("failed", 1)
    assert message in capsys.readouterr().out


def test_an_id_that_is_none_stops_the_dag(sensor):
    with pytest.raises(Exception, match="must be the id of a transaction"):
        sensor(task_id="task", transaction="no")


@pytest.mark.parametrize(("end", "state"), [("commit", "committed"), ("abort", "aborted")])
async def test_the_trigger_fires_when_it_is_decided(pravega_config, scope, end, state):
    async with PravegaClient(pravega_config) as client, asyncio.timeout(PATIENCE):
        await client.create_stream(f"{scope}/stream")
        opened = await client.open_transaction(f"{scope}/stream")
        made = PravegaTransactionTrigger(
            transaction=str(opened.txn_id),
            stream=f"{scope}/stream",
            poll_interval=SOON,
            pravega_conn_id="pravega_default",
        )
        name, arguments = json.loads(json.dumps(made.serialize()))
        again = resolve_name(name)(**arguments)
        waiting = asyncio.create_task(anext(aiter(again.run())))
        while not any(poller.answer for poller in _pollers.get(asyncio.get_running_loop(), {}).values()):  # noqa: ASYNC110 - nothing reports it
            await asyncio.sleep(SOON)
        assert not waiting.done()
        await getattr(opened, end)()
        event = (await waiting).payload
    assert event["status"] == "decided"
    assert event["state"] in (state, "aborting")

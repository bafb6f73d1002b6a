"""Dagster's sensor ends ranges where the transactions of a database are whole."""

import json

import dagster as dg
import pytest
from dagster._core.execution.build_resources import wrap_resources_for_execution

from dagster_pravega import PravegaResource, StreamCutPartitions, build_stream_cut_sensor


@pytest.fixture(autouse=True)
def running_spark():
    """These tests need no Spark."""


def change(transaction, number):
    source = {"db": "shop", "table": "a"}
    about = {"id": transaction, "data_collection_order": number}
    return json.dumps({"op": "c", "source": source, "transaction": about})


def test_a_range_ends_where_all_transactions_are_whole(client, make_stream, append, pravega_config, tmp_path):
    stream, transactions = make_stream(segments=1), make_stream("transactions")
    partitions = StreamCutPartitions(str(stream), consumer="billing")

    @dg.asset(partitions_def=partitions)
    def bills() -> None: ...

    sensor = build_stream_cut_sensor(
        "cuts", partitions_def=partitions, target=[bills], transactions=transactions.stream
    )
    pravega = PravegaResource(controller_uri=pravega_config.controller_uri)
    definitions = dg.Definitions([bills], sensors=[sensor], resources={"pravega": pravega})
    append(stream, [change("1", 1), change("1", 2), change("2", 1)])

    def tick():
        with (
            dg.DagsterInstance.local_temp(str(tmp_path)) as instance,
            dg.SensorEvaluationContext(
                instance_ref=instance.get_ref(),  # as in a daemon: Dagster looks there for the partitions
                last_tick_completion_time=None,
                last_run_key=None,
                cursor=None,
                repository_name=None,
                repository_def=definitions.get_repository_def(),
                resources=wrap_resources_for_execution(definitions.resources),
            ) as context,
        ):
            return sensor.evaluate_tick(context)

    assert "up to where the transactions of transactions are whole" in tick().skip_message
    end = {"status": "END", "id": "1", "data_collections": [{"data_collection": "shop.a", "event_count": 2}]}
    append(transactions, [json.dumps(end)])
    assert len(tick().run_requests) == 1

    [record] = client.cut_ledger(stream.scope).records("billing", stream)
    taken = [json.loads(event.data)["transaction"] for event in client.read(record.range, stream)]
    assert [(one["id"], one["data_collection_order"]) for one in taken] == [("1", 1), ("1", 2)]

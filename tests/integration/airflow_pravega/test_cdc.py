"""Changes of a database on a real stream, merged by real runs of Airflow: arguments arrive, results are shown.

All that merges do to tables is tested with Spark alone, in `pyspark_pravega/test_merge_into`.
"""

import json
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from pathlib import Path

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.sdk import DAG
from deltalake import DeltaTable
from psycopg2 import connect
from tests.integration.airflow_pravega.conftest import PASSWORD
from tests.integration.pyspark_pravega.debezium_events import in_avro, made, texts

from aiopravega.ledger import Interval, IntervalState
from airflow_pravega.operators.cdc import PravegaCdcMergeOperator
from airflow_pravega.sensors.stream_cut import PravegaStreamCutSensor

pytestmark = pytest.mark.usefixtures("spark")
FIRST, SECOND = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)


def change(op, lsn, **row):
    images = {"before": row, "after": None} if op == "d" else {"before": None, "after": row}
    return json.dumps(
        {**images, "op": op, "ts_ms": 1, "source": {"connector": "postgresql", "lsn": lsn, "ts_ms": lsn}}
    ).encode()


def merging(scope, stream, folder, columns="id int, note string", **arguments) -> DAG:
    with DAG(f"dag-{scope}", schedule=None) as dag:
        wait = PravegaStreamCutSensor(task_id="wait", stream=str(stream), consumer="merger")
        PravegaCdcMergeOperator(
            task_id="merge",
            stream=str(stream),
            stream_cuts=wait.output,
            key=["id"],
            columns=columns,
            **{"table": f"delta:{folder}", **arguments},
        )
    return dag


def test_intervals_are_merged_once_and_the_ledger_knows_it(run, client, scope, stream, write, tmp_path):
    folder = f"{tmp_path}/table"
    job = partial(run, merging(scope, stream, folder))
    write(change("c", 1, id=1, note="large"), change("c", 2, id=2, note="b"))
    first = job(FIRST).result("merge")
    assert (first["action"], first["changes"], first["inserted"]) == ("merge", 2, 2)

    write(change("u", 3, id=1, note="__debezium_unavailable_value"), change("d", 4, id=2, note=None))
    second = job(SECOND)
    found = second.result("merge")
    assert (found["updated"], found["deleted"], found["older"]) == (1, 1, 0)
    cuts = second.result("wait")
    assert found["cuts"] == {"start": cuts["start"], "end": cuts["end"]}
    assert (job(FIRST).result("merge")["action"], job(SECOND).result("merge")["action"]) == ("nothing", "nothing")
    rows = DeltaTable(folder).to_pyarrow_table().to_pylist()
    assert [(row["id"], row["note"]) for row in rows] == [(1, "large")]
    record = client.cut_ledger(stream.scope).find(Interval("merger", stream, cuts["interval"]))
    assert record.state is IntervalState.DONE


def test_a_table_of_a_connection_to_postgresql_is_merged_once(run, scope, stream, write, warehouse, capfd):
    job = partial(run, merging(scope, stream, None, table=scope, postgres_conn_id="warehouse"))
    write(change("c", 1, id=1, note="large"), change("c", 2, id=2, note="b"))
    assert job(FIRST).result("merge")["inserted"] == 2
    write(change("u", 3, id=1, note="__debezium_unavailable_value"), change("d", 4, id=2, note=None))
    second = job(SECOND).result("merge")
    assert (second["updated"], second["deleted"], job(SECOND).result("merge")["action"]) == (1, 1, "nothing")
    with closing(connect(warehouse)) as connection, connection.cursor() as cursor:
        cursor.execute(f'select id, note from "{scope}"')
        assert cursor.fetchall() == [(1, "large")]
    assert PASSWORD not in "".join(capfd.readouterr())
    with pytest.raises(AirflowFailException, match="an address may have a password"):
        merging(scope, stream, None, table=f"{warehouse}#{scope}")


def test_the_rules_arrive_and_the_result_says_what_they_did(run, scope, stream, write, tmp_path):
    folder, columns = f"{tmp_path}/table", "id int, note string, n int"
    rules = {"deletes": "soft", "ghosts": "remove", "new_columns": "add", "unsent": "null"}
    write(*(made("r", 10, snapshot="true", id=id_, note="a")[0] for id_ in (1, 2)))
    assert run(merging(scope, stream, folder, **rules), FIRST).result("merge")["ghosts"] == 0
    write(
        made("r", 20, at=2, snapshot="last", id=1, note="a", n=1)[0],
        made("u", 30, at=3, id=3, note="__debezium_unavailable_value", n=3)[0],
    )
    found = run(merging(scope, stream, folder, columns, **rules), SECOND).result("merge")
    assert [found[name] for name in ("action", "changes", "ghosts", "new_columns")] == ["merge", 2, 1, ["n"]]
    rows = DeltaTable(folder).to_pyarrow_table().to_pylist()
    assert sorted((row["id"], row["note"], row["n"], row["_deleted"]) for row in rows) == [
        (1, "a", 1, False),
        (2, "a", None, True),
        (3, None, 3, False),
    ]


def test_a_table_that_is_merged_otherwise_fails_the_task_for_good(run, scope, stream, write, tmp_path, capfd):
    folder = f"{tmp_path}/table"
    write(change("c", 1, id=1, note="a"))
    assert run(merging(scope, stream, folder), FIRST).result("merge")["inserted"] == 1
    write(change("c", 2, id=2, note="b"))
    done = run(merging(scope, stream, folder, history="scd2"), SECOND)
    assert (done.state("merge"), done.tries("merge")) == ("failed", 1)
    said = "".join(capfd.readouterr())
    assert "is merged with key id, hard deletes, history none, and this merge has key id, hard deletes" in said


def test_the_example_merges_orders(run, stream, write, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3] / "example_dags" / "airflow"))
    example = import_module("orders_merged").orders_merged
    params = {"orders": str(stream), "table": f"delta:{tmp_path}/orders"}
    write(change("c", 1, id=1, customer=7, price="12.50", placed=1_767_225_600_000_000))
    assert run(example, FIRST, params).result("merge")["inserted"] == 1
    write(change("u", 2, id=1, customer=8, price="13.50", placed=1_767_225_600_000_000))
    assert run(example, SECOND, params).result("merge")["updated"] == 1
    [row] = DeltaTable(f"{tmp_path}/orders").to_pyarrow_table().to_pylist()
    assert (row["customer"], str(row["price"]), row["placed"].year) == (8, "13.50", 2026)


def test_changes_in_avro_are_merged_with_the_columns_of_the_registry(
    run, scope, stream, write, pravega_emulator, tmp_path
):
    folder, uri = f"{tmp_path}/table", pravega_emulator.schema_registry_uri
    options = {"decode": "debezium-avro", "schema_registry_uri": uri}
    write(*(event for event, _ in in_avro(uri, stream, [one for one in texts("schema", "full_ident") if one[0]])))

    found = run(merging(scope, stream, folder, columns=None, options=options), FIRST).result("merge")

    rows = DeltaTable(folder).to_pyarrow_table().to_pylist()
    assert (found["action"], len(rows)) == ("merge", found["inserted"])
    assert [[*row] for row in rows[:1]] == [["id", "v", "n", "_sequence"]]

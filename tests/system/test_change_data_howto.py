"""The how-to pages about change data: their Python runs, as one program, on events that a real Debezium wrote.

No block is left out. What is not Python on the pages needs more: `MERGE` of SQL a Spark for which Delta and Iceberg are
built, the settings of Debezium a running one (tests/system/cdc). Airflow's operators and its sensor are made here, and
executed in tests/integration/airflow_pravega.
"""

import json
import os
import re
import subprocess
import sys
import uuid
from contextlib import closing
from pathlib import Path

import psycopg2
import pytest
from deltalake import DeltaTable
from tests.integration.debezium_settings import GOOD, PASSWORD
from tests.integration.pyspark_pravega.debezium_events import texts
from tests.pages.blocks import PAGES, block_with, program_of
from tests.system.airflow.postgres import Postgres
from tests.system.servers import free_ports

from aiopravega import ScalingPolicy
from aiopravega.blocking import PravegaClient

# Beside the tests that have a Spark of their own, a third one at a time would be too much for a small machine.
pytestmark = [pytest.mark.timeout(1300), pytest.mark.xdist_group("pyspark_pravega")]

NAMES = ("change-data", "whole-transactions", "merge-changes", "set-up-debezium")  # in this order
LIMIT = 1200  # seconds; it starts Spark
SETTINGS = """
debezium.source.database.dbname=postgres
debezium.source.database.user=airflow
debezium.source.table.include.list=public.customers,public.order_items
debezium.source.provide.transaction.metadata=true
debezium.transforms=under
debezium.transforms.under.type=org.apache.kafka.connect.transforms.RegexRouter
debezium.transforms.under.regex=(.*)_(.*)
debezium.transforms.under.replacement=$1-$2
"""
TABLES = "create table customers (id int primary key, email text); create table order_items (id int primary key)"
# The pages leave it to their reader what is done with what they make.
SHOWN = """
import json
print(json.dumps(sorted([row.id, row.first_name, row.email] for row in table.collect())))
print("left behind", left_behind.count(), "of", spark.table("last_changes").count())
print("made", wait.task_id, check.task_id, make.task_id)
"""


def customers(events: list[tuple[bytes, str]]) -> list[list[object]]:
    """The rows as the events say, computed one by one: the last change of each key, if it is no delete."""
    last: dict[int, tuple[int, str, dict[str, object]]] = {}
    for event in (json.loads(text) for text, _ in events if text):  # of a tombstone there is none
        row = event["after"] or event["before"]
        at = event["source"]["lsn"]
        if row["id"] not in last or at >= last[row["id"]][0]:
            last[row["id"]] = at, event["op"], row
    return sorted([id_, row["first_name"], row["email"]] for id_, (_, op, row) in last.items() if op != "d")


def versions(events: list[tuple[bytes, str]]) -> list[list[object]]:
    """Key, values and beginning of each version that the events make, each change once."""
    changes = {}
    for event in (json.loads(text) for text, _ in events if text):
        row = event["after"] or event["before"]
        changes[event["source"]["lsn"], row["id"]] = event
    current: dict[int, list[object]] = {}
    found = []
    for (_, id_), event in sorted(changes.items(), key=lambda each: each[0]):
        row = event["after"]
        values = row and [row["first_name"], row["email"], row["created"]]
        if values and current.get(id_) != values:
            found.append([id_, *values[:2], event["source"]["ts_us"]])
        current[id_] = values
    return sorted(found, key=str)


def test_the_pages_read_merge_and_check_the_changes_of_a_database(pravega_config, tmp_path):
    scope = f"shop-{uuid.uuid4().hex}"
    events = {
        "inv.public.customers": texts("plain", "customers", "engine"),
        "inv.public.order-items": texts("plain", "order_items", "engine"),
        "inv.transaction": [one for one in texts("plain", origin="engine") if one[0].startswith(b'{"status"')],
    }
    with PravegaClient(pravega_config) as client:
        client.create_scope(scope)
        for name, written in events.items():
            client.create_stream(f"{scope}/{name}", ScalingPolicy.fixed(1 if name == "inv.transaction" else 2))
            with client.writer(f"{scope}/{name}") as writer:
                writer.write_many([text for text, _ in written], [key for _, key in written])
    (tmp_path / "application.properties").write_text(GOOD.format(scope=scope, password=PASSWORD, flush=0) + SETTINGS)
    environment = {**os.environ, "PRAVEGA_CONTROLLER_URI": pravega_config.controller_uri}
    # How a range is claimed stands on the page to which these lead.
    claim = block_with("land-tables", "ledger.claim(monday").code.replace('"orders"', '"inv.public.customers"')
    program = "\n".join([claim, *map(program_of, NAMES), SHOWN])

    def run(*command):
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    with Postgres(free_ports(1)[0], tmp_path / "postgres.log", {"wal_level": "logical"}) as server:
        address = server.url("psycopg2").replace("+psycopg2", "")
        with closing(psycopg2.connect(address)) as connection, connection, connection.cursor() as cursor:
            cursor.execute(TABLES)
        program = program.replace("postgresql://reader@localhost/shop", address)
        program = program.replace('"shop"', f'"{scope}"').replace("shop/", f"{scope}/")
        script = tmp_path / "changes.py"
        script.write_text(program.replace("/tmp/lake", f"{tmp_path}/lake").replace("/etc/debezium", str(tmp_path)))
        printed = run(sys.executable, script)

    for line in (
        "{'984': None, '1005': 1}",  # the vectors are samples: here an end is missing, there a change
        "merge Counts(inserted=7, updated=0, deleted=0, older=0, absent=2, same=0, ghosts=0, new_columns=[])",
        "nothing does harm; 3 streams are there",
        "left behind 0 of 9",
        "made wait check make",
    ):
        assert line in printed
    assert "REPLICA IDENTITY of public.customers is default: hides values" in printed
    expected = customers(events["inv.public.customers"])
    assert json.dumps(expected) in printed
    merged = DeltaTable(f"{tmp_path}/lake/customers").to_pyarrow_table(columns=["id", "first_name", "email"])
    assert sorted([*row.values()] for row in merged.to_pylist()) == expected
    kept = DeltaTable(f"{tmp_path}/lake/customers_history").to_pyarrow_table().to_pylist()
    now = [[row["id"], row["first_name"], row["email"]] for row in kept if row["_current"]]
    assert sorted(now) == expected
    every = [
        [row["id"], row["first_name"], row["email"], round(row["_valid_from"].timestamp() * 1_000_000)] for row in kept
    ]
    assert sorted(every, key=str) == versions(events["inv.public.customers"])
    text = PAGES["whole-transactions"].read_text(encoding="utf-8")
    [command] = re.findall(r"^```\npravega (cuts whole .*?)^```", text, re.MULTILINE | re.DOTALL)
    command = command.replace("shop/", f"{scope}/").replace("\\\n", "")
    said = run(Path(sys.executable).with_name("pravega"), *command.split())
    assert "transaction 984: no end yet\ntransaction 1005: 1 changes are missing" in said

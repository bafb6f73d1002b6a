"""What is wrong with an operator's arguments, and known when it is made, stops the DAG from being parsed."""

from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.sdk import DAG

from airflow_pravega.operators.backfill import PravegaBackfillPlanOperator
from airflow_pravega.operators.cdc import PravegaCdcMergeOperator
from airflow_pravega.operators.data_gate import PravegaDataGateOperator
from airflow_pravega.operators.events import PravegaReadEventsOperator, PravegaWriteEventsOperator
from airflow_pravega.operators.keep_table import PravegaKeepTableOperator
from airflow_pravega.operators.land import PravegaLandOperator
from airflow_pravega.operators.schema import PravegaRegisterSchemaOperator, PravegaSchemaGateOperator
from airflow_pravega.operators.spark import PravegaSparkReadOperator, PravegaSparkWriteOperator
from airflow_pravega.operators.stream import (
    PravegaCreateScopeOperator,
    PravegaCreateStreamOperator,
    PravegaDeleteScopeOperator,
    PravegaDeleteStreamOperator,
    PravegaScaleStreamOperator,
    PravegaSealStreamOperator,
    PravegaTruncateStreamOperator,
    PravegaUpdateStreamOperator,
)
from airflow_pravega.operators.stream_cut import PravegaStreamCutOperator
from airflow_pravega.operators.stream_tags import PravegaTagStreamOperator
from airflow_pravega.operators.subscriber import PravegaSubscriberCutOperator, PravegaUnsubscribeOperator
from airflow_pravega.sensors.event_time import PravegaEventTimeSensor
from airflow_pravega.sensors.stream_cut import PravegaStreamCutSensor

OF_STREAMS = {
    "create": PravegaCreateStreamOperator,
    "update": partial(PravegaUpdateStreamOperator, tags=["sales"]),
    "scale": partial(PravegaScaleStreamOperator, segments=2),
    "truncate": partial(PravegaTruncateStreamOperator, cut="latest"),
    "seal": PravegaSealStreamOperator,
    "delete": PravegaDeleteStreamOperator,
    "tag": partial(PravegaTagStreamOperator, add=["sales"]),
    "subscriber": partial(PravegaSubscriberCutOperator, subscriber="etl", cut="latest"),
    "unsubscribe": partial(PravegaUnsubscribeOperator, subscriber="etl"),
    "cuts": PravegaStreamCutOperator,
    "backfill": PravegaBackfillPlanOperator,
    "read events": partial(PravegaReadEventsOperator, stream_cuts={}),
    "write events": partial(PravegaWriteEventsOperator, events=[]),
    "read": partial(PravegaSparkReadOperator, stream_cuts={}, output_path="/nowhere"),
    "write": partial(PravegaSparkWriteOperator, source="/nowhere"),
    "land": partial(PravegaLandOperator, stream_cuts={}, table="parquet:/nowhere"),
    "merge": partial(PravegaCdcMergeOperator, stream_cuts={}, table="delta:/nowhere", key=["id"]),
    "register": partial(PravegaRegisterSchemaOperator, candidate="a.avsc"),
    "schema gate": partial(PravegaSchemaGateOperator, candidate="a.avsc"),
    "data gate": PravegaDataGateOperator,
    "sensor": PravegaStreamCutSensor,
    "event time": PravegaEventTimeSensor,
}


@pytest.mark.parametrize("make", OF_STREAMS.values(), ids=OF_STREAMS)
@pytest.mark.parametrize("name", ["scope/order_items", "order_items", "a b/orders", f"scope/{'x' * 251}"])
def test_making_an_operator_refuses_a_name_that_pravega_refuses(make, name):
    with pytest.raises(AirflowFailException, match=f"'{name.split('/')[0 if ' ' in name else -1]}' is not a s"):
        make(task_id="task", stream=name)


@pytest.mark.parametrize("make", OF_STREAMS.values(), ids=OF_STREAMS)
@pytest.mark.parametrize("name", ["{{ params.stream }}", "scope/{{ ds }}_items", "orders", "scope/orders"])
def test_a_template_is_left_for_later_and_so_is_the_default_scope(make, name):
    assert make(task_id="task", stream=name).stream == name


@pytest.mark.parametrize("make", [PravegaCreateScopeOperator, PravegaDeleteScopeOperator])
def test_the_name_of_a_scope_is_checked_too(make):
    with pytest.raises(AirflowFailException, match="'a/b' is not a scope name"):
        make(task_id="task", scope="a/b")


@pytest.mark.parametrize("make", [partial(PravegaSubscriberCutOperator, cut="latest"), PravegaUnsubscribeOperator])
def test_the_name_of_a_subscriber_is_checked_too(make):
    with pytest.raises(AirflowFailException, match="'a_b' is not a subscriber name"):
        make(task_id="task", stream="scope/orders", subscriber="a_b")


@pytest.mark.parametrize(
    ("make", "choice"),
    [
        (PravegaStreamCutSensor, "on_open"),
        (PravegaStreamCutSensor, "on_truncated"),
        (PravegaEventTimeSensor, "on_truncated"),
        (PravegaCreateStreamOperator, "if_exists"),
        (PravegaDeleteStreamOperator, "if_not_exists"),
        (partial(PravegaSubscriberCutOperator, subscriber="etl", cut="latest"), "if_behind"),
    ],
)
def test_a_policy_that_there_is_not_is_refused(make, choice):
    with pytest.raises(AirflowFailException, match=f"{choice} is 'forget', but must be one of"):
        make(task_id="task", stream="scope/orders", **{choice: "forget"})


@pytest.mark.parametrize("operator", [PravegaCdcMergeOperator, PravegaKeepTableOperator])
def test_a_history_in_a_table_of_postgresql_is_refused(operator):
    more: dict[str, Any] = {"stream_cuts": {}} if operator is PravegaCdcMergeOperator else {}
    with pytest.raises(AirflowFailException, match="PostgreSQL keep no history .* Delta or Iceberg"):
        operator(
            task_id="task",
            stream="scope/orders",
            table="shop.orders",
            postgres_conn_id="shop",
            key=["id"],
            history="scd2",
            **more,
        )


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"partition": timedelta(hours=1), "since": "2026-01-05T00:00:00Z"}, "since or until"),
        ({"partition": timedelta()}, "longer than nothing"),
    ],
    ids=str,
)
def test_a_partition_that_says_something_else_is_refused(more, said):
    with pytest.raises(AirflowFailException, match=said):
        PravegaEventTimeSensor(task_id="task", stream="scope/orders", **more)


@pytest.mark.parametrize("more", [{"deletes": "soft"}, {"ghosts": "remove"}])
def test_what_does_not_go_with_a_history_is_refused(more):
    with pytest.raises(AirflowFailException, match="history='scd2' .*: leave out"):
        PravegaCdcMergeOperator(
            task_id="task",
            stream="scope/orders",
            stream_cuts={},
            table="delta:/nowhere",
            key=["id"],
            history="scd2",
            **more,
        )


def test_an_update_of_nothing_is_refused():
    with pytest.raises(AirflowFailException, match="nothing to update: give scaling, retention, tags or"):
        PravegaUpdateStreamOperator(task_id="task", stream="scope/orders")


def test_a_set_of_tags_makes_the_same_dag_in_every_process():
    tags = {"sales", "europe", "daily", "orders", "raw"}
    made = PravegaCreateStreamOperator(task_id="task", stream="scope/orders", tags=tags)
    assert made.tags == ["daily", "europe", "orders", "raw", "sales"]
    tagged = PravegaTagStreamOperator(task_id="task", stream="scope/orders", add=tags, remove=["b", "a"])
    assert (tagged.add, tagged.remove) == (sorted(tags), ["b", "a"])


def test_the_events_of_a_range_are_one_xcom():
    assert not PravegaReadEventsOperator(task_id="task", stream="scope/orders", stream_cuts={}).multiple_outputs


def test_a_schema_is_found_where_files_of_templates_are(tmp_path, monkeypatch):
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "order.avsc").write_text("{}")
    with DAG("dag", template_searchpath=str(tmp_path)):
        found, other = (
            PravegaRegisterSchemaOperator(task_id=task_id, stream="scope/orders", candidate=candidate)
            for task_id, candidate in (("found", "schemas/order.avsc"), ("other", "schemas/missing.avsc"))
        )
    assert found.found_candidate() == str(tmp_path / "schemas" / "order.avsc")
    assert other.found_candidate() == "schemas/missing.avsc"
    monkeypatch.chdir(tmp_path)
    assert found.found_candidate() == "schemas/order.avsc"


@pytest.mark.parametrize("given", ["protos", ["protos"], ["/none", "protos"], ["missing"], "", []])
def test_folders_of_imports_are_found_where_files_of_templates_are(given, tmp_path):
    (tmp_path / "protos").mkdir()
    with DAG("dag", template_searchpath=str(tmp_path)):
        gate = PravegaSchemaGateOperator(task_id="gate", stream="a/b", candidate="protos/a.proto", proto_path=given)
    wanted = [given] if isinstance(given, str) else given
    assert gate.found_folders() == [str(tmp_path / "protos") if one == "protos" else one for one in wanted if one]


@pytest.mark.parametrize(
    ("table", "more", "message"),
    [
        ("delta:/nowhere", {"partition_by": ["day(at)", "{{ more }}"]}, "Delta has partitions by columns only"),
        ("iceberg:lake/shop.orders", {"partition_by": ["week(at)"]}, "partition_by has 'week.at.'"),
        ("shop.orders", {"partition_by": "day", "iceberg_conn_id": "lake"}, "partition_by is a list of texts"),
    ],
)
def test_partitions_that_a_merged_table_cannot_have_are_refused(table, more, message):
    with pytest.raises(AirflowFailException, match=message):
        PravegaCdcMergeOperator(task_id="task", stream="scope/orders", stream_cuts={}, table=table, key=["id"], **more)

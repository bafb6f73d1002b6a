"""Fields of components' files: as many as the builders and resources of Python have."""

import inspect
from typing import Any

import dagster as dg
import pytest

import dagster_pravega
from dagster_pravega import (
    IcebergCatalog,
    LandingDatabase,
    ObjectStore,
    PravegaCdcComponent,
    PravegaKeptTableComponent,
    PravegaResource,
    PravegaScopeComponent,
    PravegaSparkIOManager,
    SchemaRegistryResource,
)
from dagster_pravega.components.cdc_component import CdcTableModel
from dagster_pravega.components.component import CutSensorModel, FreshnessCheckModel, LagCheckModel, StreamModel
from dagster_pravega.components.connection import Connection, Database, Registry, Spark
from dagster_pravega.components.stores import Catalog, Store

S3_KEYS = ("access_key_id", "secret_access_key", "session_token")
OF_COMPONENT = {"asset": "the component's", "stream": "that of the part", "resource_key": "that of the component"}
# What Python has, the parts of files that have it, other names there, and what files do not have, with the reason.
TABLE: list[tuple[Any, list[Any], dict[str, str], dict[str, str]]] = [
    (
        "pravega_stream_spec",
        [StreamModel],
        {},
        {"skippable": "a stream is never materialized by Dagster", "is_virtual": "of other kinds of assets"},
    ),
    (
        "build_observed_stream",
        [StreamModel],
        {},
        {"resource_key": "that of the component", "name": "made of the key, which has a prefix"},
    ),
    ("build_stream_lag_check", [LagCheckModel], {}, OF_COMPONENT),
    ("build_stream_freshness_check", [FreshnessCheckModel], {}, OF_COMPONENT),
    (
        "build_stream_cut_sensor",
        [CutSensorModel],
        {"partitions_def": "partitions", "default_status": "running"},
        {"resource_key": "that of the component"},
    ),
    (
        "build_cdc_asset",
        [CdcTableModel, PravegaCdcComponent],
        {"database_key": "table_database_key"},
        {
            "key": "key_prefix and the name of the table",
            "transform": "a function",
            "is_virtual": "of other kinds of assets",
            **dict.fromkeys(
                ("compute_fn", "ins", "check_specs", "config_schema", "dagster_type", "hooks", "io_manager_def"),
                "objects of Python",
            ),
            **dict.fromkeys(("required_resource_keys", "resource_defs", "output_required"), "for functions of assets"),
            **dict.fromkeys(("op_tags", "backfill_policy", "pool"), "post_processing of Dagster's own, or Python"),
        },
    ),
    (
        "build_kept_table",
        [PravegaKeptTableComponent],
        {"database_key": "database", "io_manager_key": "arrow"},
        {
            "transform": "a function",
            "key": "the field `key`",
            "is_virtual": "of other kinds of assets",
            **dict.fromkeys(
                ("compute_fn", "ins", "check_specs", "config_schema", "dagster_type", "hooks", "io_manager_def"),
                "objects of Python",
            ),
            **dict.fromkeys(("required_resource_keys", "resource_defs", "output_required"), "for functions of assets"),
            **dict.fromkeys(
                ("op_tags", "backfill_policy", "pool", "retry_policy"), "post_processing of Dagster's own, or Python"
            ),
            "key_prefix": "a part of the key",
            "name": "the last part of the key",
        },
    ),
    (
        "build_cdc_ghost_check",
        [CdcTableModel],
        {},
        {
            **dict.fromkeys(("asset", "resource_key", "database_key", "catalog_key", "store_key"), "the component's"),
            **dict.fromkeys(("cuts", "severity", "blocking"), "give the check in Python, if the default is not right"),
        },
    ),
    (
        "build_cdc_drift_check",
        [CdcTableModel],
        {},
        {
            **dict.fromkeys(("asset", "resource_key", "database_key", "catalog_key", "store_key"), "the component's"),
            "of_table": "the option `table`",
            **dict.fromkeys(("ignore", "blocking"), "give the check in Python, if the default is not right"),
        },
    ),
    (
        "build_debezium_check",
        [PravegaCdcComponent],
        {"settings": "debezium_settings"},
        {
            "asset": "the first stream",
            "name": "there is one",
            **dict.fromkeys(
                ("fail_on", "measure_rows", "blocking"), "give the check in Python, if the default is not right"
            ),
        },
    ),
    (
        "build_observation_sensor",
        [PravegaScopeComponent],
        {"streams": "scope", "minimum_interval_seconds": "observe_seconds"},
        {
            "name": "made of the scope",
            "default_status": "it is on when the code is loaded",
            **dict.fromkeys(
                ("consumers", "event_times", "count_to", "as_materializations"),
                "give the sensor in Python, if the default is not right",
            ),
        },
    ),
    ("build_external_assets", [PravegaScopeComponent], {"pravega": "connection"}, {}),
    (PravegaResource, [Connection], {"password": "password_env", "token": "token_env"}, {}),
    (SchemaRegistryResource, [Registry], {"password": "password_env", "token": "token_env"}, {}),
    (LandingDatabase, [Database], {"dsn": "dsn_env"}, {}),
    (ObjectStore, [Store], {name: f"{name}_env" for name in S3_KEYS}, {}),
    (IcebergCatalog, [Catalog], {"credential": "credential_env", "token": "token_env"}, {}),
    (PravegaSparkIOManager, [Spark], {}, {"pravega": "the component's connection"}),
]
# Of no component yet.
IN_PYTHON_ONLY = {
    "build_automation_sensor",
    "build_cut_backfill",
    "build_data_gate",
    "build_debezium_server",
    "build_debezium_streams",
    "build_decode_errors_check",
    "build_errors_sensor",
    "build_flink_job",
    "build_kafka_copy",
    "build_landed_asset",
    "build_landed_errors_check",
    "build_ledger_maintenance",
    "build_late_events_sensor",
    "build_partition_freshness_check",
    "build_reader_group_lag_check",
    "build_reader_group_sensor",
    "build_replay_check",
    "build_row_count_check",
    "build_schema_drift_check",
    "build_schema_gate",
    "build_several_sinks",
    "build_table_upkeep",
    "pravega_output",
    "build_complete_partitions_sensor",
}
# The signatures from which `**attributes` are.
ATTRIBUTES: dict[str, Any] = {
    "pravega_stream_spec": dg.AssetSpec.__new__,
    "build_cdc_asset": dg.asset,
    "build_kept_table": dg.asset,
}


def parameters(owner: Any) -> set[str]:
    if not isinstance(owner, str):
        return set(owner.model_fields)
    found = set(inspect.signature(getattr(dagster_pravega, owner)).parameters)
    if "attributes" in found:
        more = inspect.signature(ATTRIBUTES[owner]).parameters
        found |= {name for name in more if name not in ("cls", "kwargs")}
    return found - {"attributes"}


@pytest.mark.parametrize(("owner", "parts", "names", "reasons"), TABLE, ids=lambda each: str(each)[:40])
def test_a_file_has_what_python_has(owner, parts, names, reasons):
    fields = {name for part in parts for name in part.model_fields}
    missing = parameters(owner) - fields - set(names) - set(reasons)
    assert missing == set(), "give these to the parts of components, or give the reason why not"
    assert set(names.values()) <= fields


def test_every_builder_is_in_the_table_or_of_no_component():
    builders = {name for name in dagster_pravega.__all__ if inspect.isfunction(getattr(dagster_pravega, name))}
    listed = {owner for owner, *_ in TABLE if isinstance(owner, str)} | IN_PYTHON_ONLY
    assert builders - {"hand_over", "spark_session"} == listed

"""Pravega for Dagster: resources, stream assets, IO managers over Spark and over Arrow."""

from importlib.metadata import version

from dagster_shared.libraries import DagsterLibraryRegistry

from dagster_pravega.arrow_io import PravegaArrowIOManager, StreamBatches
from dagster_pravega.cdc import pravega_cdc_asset
from dagster_pravega.cdc_component import PravegaCdcComponent
from dagster_pravega.cdc_drift import build_cdc_drift_check
from dagster_pravega.cdc_ghosts import build_cdc_ghost_check
from dagster_pravega.complete import complete_partitions_sensor
from dagster_pravega.component import PravegaStreamComponent
from dagster_pravega.cut_backfill import build_cut_backfill
from dagster_pravega.cut_partitions import StreamCutPartitions
from dagster_pravega.cut_sensor import build_stream_cut_sensor
from dagster_pravega.debezium import build_debezium_check, build_debezium_streams
from dagster_pravega.decode_errors import build_decode_errors_check
from dagster_pravega.drift import build_schema_drift_check
from dagster_pravega.external import build_external_assets
from dagster_pravega.freshness import build_stream_freshness_check
from dagster_pravega.gates import build_data_gate, build_schema_gate
from dagster_pravega.group_lag import build_reader_group_lag_check
from dagster_pravega.group_sensor import build_reader_group_sensor
from dagster_pravega.handed_range import HandedRange
from dagster_pravega.io_manager import PravegaSparkIOManager
from dagster_pravega.lag import build_stream_lag_check
from dagster_pravega.landed import build_landed_asset
from dagster_pravega.landing_database import LandingDatabase
from dagster_pravega.maintenance import build_ledger_maintenance
from dagster_pravega.observed import observe_pravega_stream
from dagster_pravega.pipes import RemoteRun, hand_over
from dagster_pravega.range_read import StreamRead
from dagster_pravega.ranges import RangeConfig
from dagster_pravega.resource import PravegaResource
from dagster_pravega.row_count import build_row_count_check
from dagster_pravega.schema_registry import SchemaRegistryResource
from dagster_pravega.scope_component import PravegaScopeComponent
from dagster_pravega.sessions import spark_session
from dagster_pravega.spec import pravega_stream_spec

__all__ = [
    "HandedRange",
    "LandingDatabase",
    "PravegaArrowIOManager",
    "PravegaCdcComponent",
    "PravegaResource",
    "PravegaScopeComponent",
    "PravegaSparkIOManager",
    "PravegaStreamComponent",
    "RangeConfig",
    "RemoteRun",
    "SchemaRegistryResource",
    "StreamBatches",
    "StreamCutPartitions",
    "StreamRead",
    "build_cdc_drift_check",
    "build_cdc_ghost_check",
    "build_cut_backfill",
    "build_data_gate",
    "build_debezium_check",
    "build_debezium_streams",
    "build_decode_errors_check",
    "build_external_assets",
    "build_landed_asset",
    "build_ledger_maintenance",
    "build_reader_group_lag_check",
    "build_reader_group_sensor",
    "build_row_count_check",
    "build_schema_drift_check",
    "build_schema_gate",
    "build_stream_cut_sensor",
    "build_stream_freshness_check",
    "build_stream_lag_check",
    "complete_partitions_sensor",
    "hand_over",
    "observe_pravega_stream",
    "pravega_cdc_asset",
    "pravega_stream_spec",
    "spark_session",
]

DagsterLibraryRegistry.register("dagster-pravega", version("dagster-pravega"), is_dagster_package=False)

"""Pravega for Dagster: resources, stream assets, IO managers over Spark and over Arrow."""

import warnings
from collections.abc import Mapping
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

from dagster_shared.libraries import DagsterLibraryRegistry

from dagster_pravega.assets.cdc import build_cdc_asset
from dagster_pravega.assets.external import build_external_assets
from dagster_pravega.assets.kafka import build_kafka_copy
from dagster_pravega.assets.kept import build_kept_table
from dagster_pravega.assets.landed import build_landed_asset
from dagster_pravega.assets.observed import build_observed_stream
from dagster_pravega.assets.services import build_debezium_server, build_flink_job
from dagster_pravega.assets.several import build_several_sinks
from dagster_pravega.automation.conditions import PravegaCondition
from dagster_pravega.automation.late import PravegaAutomationSensor
from dagster_pravega.automation.sensor import build_automation_sensor
from dagster_pravega.checks.cdc_drift import build_cdc_drift_check
from dagster_pravega.checks.cdc_ghosts import build_cdc_ghost_check
from dagster_pravega.checks.debezium import build_debezium_check, build_debezium_streams
from dagster_pravega.checks.decode_errors import build_decode_errors_check
from dagster_pravega.checks.drift import build_schema_drift_check
from dagster_pravega.checks.freshness import build_stream_freshness_check
from dagster_pravega.checks.gates import build_data_gate, build_schema_gate
from dagster_pravega.checks.group_lag import build_reader_group_lag_check
from dagster_pravega.checks.lag import build_stream_lag_check
from dagster_pravega.checks.landed_errors import build_landed_errors_check
from dagster_pravega.checks.partition_freshness import build_partition_freshness_check
from dagster_pravega.checks.replay import build_replay_check
from dagster_pravega.checks.row_count import build_row_count_check
from dagster_pravega.components.cdc_component import PravegaCdcComponent
from dagster_pravega.components.component import PravegaStreamComponent
from dagster_pravega.components.kept_component import PravegaKeptTableComponent
from dagster_pravega.components.scope_component import PravegaScopeComponent
from dagster_pravega.io.arrow_io import PravegaArrowIOManager, StreamBatches
from dagster_pravega.io.io_manager import PravegaSparkIOManager
from dagster_pravega.io.range_read import StreamRead
from dagster_pravega.io.remote_range import HandedRange
from dagster_pravega.metadata.cut_partitions import StreamCutPartitions
from dagster_pravega.metadata.ranges import RangeConfig
from dagster_pravega.metadata.spec import pravega_output, pravega_stream_spec
from dagster_pravega.metadata.stream_input import StreamInput
from dagster_pravega.metadata.stream_options import OutputOptions, StreamOptions
from dagster_pravega.ops.cut_backfill import build_cut_backfill
from dagster_pravega.ops.maintenance import build_ledger_maintenance
from dagster_pravega.ops.pipes import RemoteRun, hand_over
from dagster_pravega.ops.upkeep import build_table_upkeep
from dagster_pravega.partitions.event_time_mapping import EventTimePartitionMapping
from dagster_pravega.resources.resource import PravegaResource
from dagster_pravega.resources.schema_registry import SchemaRegistryResource
from dagster_pravega.resources.services import HttpServiceResource
from dagster_pravega.resources.sessions import spark_session
from dagster_pravega.resources.stores import IcebergCatalog, LandingDatabase, ObjectStore
from dagster_pravega.sensors.complete_partitions import build_complete_partitions_sensor
from dagster_pravega.sensors.cut_sensor import build_stream_cut_sensor
from dagster_pravega.sensors.errors_sensor import build_errors_sensor
from dagster_pravega.sensors.group_sensor import build_reader_group_sensor
from dagster_pravega.sensors.late_sensor import build_late_events_sensor
from dagster_pravega.sensors.observation_sensor import build_observation_sensor

__all__ = [
    "EventTimePartitionMapping",
    "HandedRange",
    "HttpServiceResource",
    "IcebergCatalog",
    "LandingDatabase",
    "ObjectStore",
    "OutputOptions",
    "PravegaArrowIOManager",
    "PravegaAutomationSensor",
    "PravegaCdcComponent",
    "PravegaCondition",
    "PravegaKeptTableComponent",
    "PravegaResource",
    "PravegaScopeComponent",
    "PravegaSparkIOManager",
    "PravegaStreamComponent",
    "RangeConfig",
    "RemoteRun",
    "SchemaRegistryResource",
    "StreamBatches",
    "StreamCutPartitions",
    "StreamInput",
    "StreamOptions",
    "StreamRead",
    "build_automation_sensor",
    "build_cdc_asset",
    "build_cdc_drift_check",
    "build_cdc_ghost_check",
    "build_complete_partitions_sensor",
    "build_cut_backfill",
    "build_data_gate",
    "build_debezium_check",
    "build_debezium_server",
    "build_debezium_streams",
    "build_decode_errors_check",
    "build_errors_sensor",
    "build_external_assets",
    "build_flink_job",
    "build_kafka_copy",
    "build_kept_table",
    "build_landed_asset",
    "build_landed_errors_check",
    "build_late_events_sensor",
    "build_ledger_maintenance",
    "build_observation_sensor",
    "build_observed_stream",
    "build_partition_freshness_check",
    "build_reader_group_lag_check",
    "build_reader_group_sensor",
    "build_replay_check",
    "build_row_count_check",
    "build_schema_drift_check",
    "build_schema_gate",
    "build_several_sinks",
    "build_stream_cut_sensor",
    "build_stream_freshness_check",
    "build_stream_lag_check",
    "build_table_upkeep",
    "hand_over",
    "pravega_output",
    "pravega_stream_spec",
    "spark_session",
]

DagsterLibraryRegistry.register("dagster-pravega", version("dagster-pravega"), is_dagster_package=False)

# Names of earlier builds. Functions that make definitions begin with `build_` now.
_FORMER: Final[Mapping[str, str]] = {
    "complete_partitions_sensor": "build_complete_partitions_sensor",
    "observe_pravega_stream": "build_observed_stream",
    "pravega_cdc_asset": "build_cdc_asset",
}


if not TYPE_CHECKING:  # a type checker would take every name for one of this module

    def __getattr__(name: str) -> Any:
        """The function of a former name, with a warning."""
        if name in _FORMER:
            now = _FORMER[name]
            warnings.warn(f"dagster_pravega.{name} is now {now}", DeprecationWarning, stacklevel=2)
            return globals()[now]
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

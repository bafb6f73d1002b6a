"""The description of this distribution for Airflow: the connection form, the asset URIs, the modules.

Airflow checks it against `airflow/provider_info.schema.json`; a mapping that does not fit breaks `import airflow` in
every process. `airflow_pravega.connections.pravega` reads the fields of the connection.
"""

from typing import Any, Final

_INTEGRATION: Final = "Pravega"
_VERSION: Final = "0.1.0"
# Pages below docs/how-to.
_GUIDES: Final = (
    "airflow",
    "airflow-waiting",
    "your-own-task",
    "airflow-spark",
    "airflow-tables",
    "airflow-streams",
    "airflow-start-runs",
    "airflow-operate",
    "late-events",
    "dead-letters",
    "airflow-decisions",
    "airflow-deadlines",
    "airflow-partitions",
)
_TEXT: Final = {"type": ["string", "null"]}
_SECRET: Final = {"type": ["string", "null"], "format": "password"}
_SECONDS: Final = {"type": ["number", "null"]}

_CONNECTION_FIELDS: Final[dict[str, Any]] = {
    "tls": {
        "label": "TLS",
        "description": "Encrypt every connection, to the controller and to the segment stores",
        "schema": {"type": ["boolean", "null"], "default": False},
    },
    "ca_file": {
        "label": "CA file",
        "description": "PEM file of the certificate authority, on the machines that run tasks; empty: the system's",
        "schema": _TEXT,
    },
    "verify_hostname": {
        "label": "Verify host name",
        "description": "Check that the server's certificate contains its name",
        "schema": {"type": ["boolean", "null"], "default": True},
    },
    "token": {
        "label": "Token",
        "description": "For Bearer authentication, instead of login and password",
        "schema": _SECRET,
    },
    "token_source": {
        "label": "Source of tokens",
        "description": "Where a token that ends comes from, instead of it: file:PATH, keycloak:PATH, oauth2:PATH",
        "schema": _TEXT,
    },
    "scope": {"label": "Default scope", "description": "Scope of streams named without one", "schema": _TEXT},
    "max_event_bytes": {
        "label": "Longest event",
        "description": "Bytes of the longest event that a reader accepts; empty: 2,147,483,639, as Java's readers",
        "schema": {"type": ["integer", "null"], "minimum": 1},
    },
    "spark_master": {
        "label": "Spark master",
        "description": "Where the Spark operators run, unless they say otherwise; empty: local[*]",
        "schema": _TEXT,
    },
    "schema_registry_uri": {
        "label": "Schema Registry",
        "description": "http://host:port or https://host:port of the Schema Registry, for gates and catalogs",
        "schema": _TEXT,
    },
    "connect_timeout": {
        "label": "Connect timeout",
        "description": "Seconds for opening one connection; empty: 10",
        "schema": _SECONDS,
    },
    "request_timeout": {
        "label": "Request timeout",
        "description": "Seconds for the answer to one request; empty: 30",
        "schema": _SECONDS,
    },
    "retry_timeout": {
        "label": "Retry timeout",
        "description": "Seconds for which failures that can pass are tried again; empty: 60",
        "schema": _SECONDS,
    },
}


def _modules(*names: str) -> list[dict[str, Any]]:
    return [{"integration-name": _INTEGRATION, "python-modules": [f"airflow_pravega.{name}" for name in names]}]


def get_provider_info() -> dict[str, Any]:
    """The provider's description; the entry point `apache_airflow_provider` of this distribution."""
    return {
        "package-name": "airflow-provider-pravega",
        "name": _INTEGRATION,
        "versions": [_VERSION],
        "description": "Streams of `Pravega <https://cncf.pravega.io>`__ between exact StreamCuts.",
        "integrations": [
            {
                "integration-name": _INTEGRATION,
                "external-doc-url": "https://cncf.pravega.io/docs/latest/",
                "how-to-guide": [f"/docs/how-to/{name}.md" for name in _GUIDES],
                "tags": ["software"],
            }
        ],
        "connection-types": [
            {
                "connection-type": "pravega",
                "hook-class-name": "airflow_pravega.hooks.pravega.PravegaHook",
                "hook-name": "Pravega",
                "conn-fields": _CONNECTION_FIELDS,
                "ui-field-behaviour": {
                    "hidden-fields": ["schema", "extra"],
                    "relabeling": {"host": "Controller host", "port": "Controller port", "login": "User name"},
                    "placeholders": {"host": "localhost", "port": "9090"},
                },
            }
        ],
        "config": {
            "pravega": {
                "description": "Settings of the Pravega provider",
                "options": {
                    "deployment": {
                        "description": (
                            "Name of this Airflow deployment, which comes before the consumers of its sensors and "
                            "backfills: two deployments with the same DAGs then have separate ranges. Without it, "
                            "consumers have the names that are given."
                        ),
                        "version_added": _VERSION,
                        "type": "string",
                        "example": "production",
                        "default": "",
                    },
                    "record_tests": {
                        "description": (
                            "Have tasks that `airflow tasks test` runs take ranges and finish them in the cut ledger, "
                            "as tasks of runs do. Otherwise they record nothing, since their runs are deleted."
                        ),
                        "version_added": _VERSION,
                        "type": "boolean",
                        "example": "True",
                        "default": "False",
                    },
                    "token_programs": {
                        "description": (
                            "Let connections name a command or a Python function as the source of tokens "
                            "(token_source). Who may edit connections can then run programs on all workers."
                        ),
                        "version_added": None,
                        "type": "boolean",
                        "example": "True",
                        "default": "False",
                    },
                },
            }
        },
        "asset-uris": [
            {
                "schemes": ["pravega"],
                "handler": "airflow_pravega.assets.sanitize_uri",
                "factory": "airflow_pravega.assets.create_asset",
                "to_openlineage_converter": "airflow_pravega.lineage.reporting.convert_asset_to_openlineage",
            }
        ],
        "task-decorators": [
            {"name": "pravega", "class-name": "airflow_pravega.decorators.frame.pravega_task"},
            {"name": "pravega_range", "class-name": "airflow_pravega.decorators.range.pravega_range_task"},
            {"name": "pravega_spark", "class-name": "airflow_pravega.decorators.spark.pravega_spark_task"},
        ],
        # Airflow's schema shows objects here, but Airflow itself reads names of classes.
        "queues": ["airflow_pravega.queues.pravega.PravegaMessageQueueProvider"],
        "extra-links": [
            f"airflow_pravega.links.{name}" for name in ("PravegaStreamLink", "PravegaConsumerLink", "PravegaSparkLink")
        ],
        "hooks": _modules("hooks.pravega"),
        "operators": _modules(
            "operators.scope",
            "operators.stream",
            "operators.stream_tags",
            "operators.reader_group",
            "operators.subscriber",
            "operators.events",
            "operators.stream_cut",
            "operators.backfill",
            "operators.recorded",
            "operators.spark",
            "operators.spark_submit",
            "operators.sql",
            "operators.land",
            "operators.errors",
            "operators.cdc",
            "operators.schema",
            "operators.data_gate",
            "operators.debezium",
            "operators.debezium_streams",
            "operators.ledger",
            "operators.upkeep",
            "operators.keep_table",
            "operators.late",
            "operators.lag",
            "operators.interval_decision",
            "operators.rebuild_decision",
            "operators.write_decision",
            "operators.replay",
            "operators.kafka",
        ),
        "sensors": _modules(
            "sensors.stream_cut",
            "sensors.streams_cut",
            "sensors.event",
            "sensors.event_time",
            "sensors.transaction",
            "sensors.reader_group",
            "sensors.errors",
        ),
        "triggers": _modules(
            "triggers.stream_cut",
            "triggers.streams",
            "triggers.event",
            "triggers.event_time",
            "triggers.next_range",
            "triggers.reader_group",
            "triggers.transaction",
            "triggers.reachable",
            "triggers.spark_driver",
            "triggers.spark_operation",
        ),
    }

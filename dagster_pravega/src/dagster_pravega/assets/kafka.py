"""A stream that has the copy of a topic of Kafka, as an asset whose runs copy what is new, exactly once."""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import dagster as dg

from aiopravega import StreamName
from aiopravega.errors import ConfigurationError
from dagster_pravega.metadata.failures import failing_for_good
from dagster_pravega.metadata.measures import BYTES_KEY, EVENTS_KEY
from dagster_pravega.metadata.spec import pravega_stream_spec, stream_of
from dagster_pravega.resources.resource import PravegaResource
from dagster_pravega.resources.schema_registry import SchemaRegistryResource
from pravega_jobs.frame_kinds import need

_PROPERTIES: Final = "PRAVEGA_KAFKA_PROPERTIES"


def build_kafka_copy(
    topic: str,
    stream: str | dg.AssetSpec,
    *,
    settings_file: str | None = None,
    behind: Sequence[str] = (),
    options: Mapping[str, str] | None = None,
    commit_ledger: str | None = None,
    step_records: int = 1_000_000,
    lost: str = "refuse",
    timeout: float = 30.0,
    name: str | None = None,
    resource_key: str = "pravega",
    registry_key: str | None = None,
    retry_policy: dg.RetryPolicy | None = None,
) -> dg.AssetsDefinition:
    """An asset: a stream with the copy of a topic. A run copies what the topic has and the stream has not, each once.

    A run that is killed, retried or executed again adds nothing that the stream has. The materialization has the events
    and bytes of the run, its steps (`pravega/steps`), and the number of offsets that are left in the topic
    (`kafka/left`).

    Args:
        topic: the topic.
        stream: `scope/stream`, which must exist, or a spec of `pravega_stream_spec`.
        settings_file: the file with the settings of librdkafka; by default the file that the environment variable
            `PRAVEGA_KAFKA_PROPERTIES` names where the run is.
        behind: consumer groups of Kafka that the copy does not overtake.
        options: how records become events, as of `PravegaKafkaCopyOperator`: `events`, `routing`, `headers`,
            `tombstones`, `schemas`. They stay the same for the whole copy.
        commit_ledger: `scope/table` of the commit ledger; by default the one of the scope of the stream.
        step_records: the most records of a step, which is one transaction.
        lost: the rule for records that Kafka has deleted before they were copied: `refuse`, or `drop` them.
        timeout: the limit for Kafka's answers, in seconds.
        name: of the op; by default it is made of the asset's key.
        resource_key: of the `PravegaResource`.
        registry_key: of the `SchemaRegistryResource` that gets the schemas.
        retry_policy: for retryable failures; by default two retries after 30 seconds.

    Raises:
        ConfigurationError: the spec does not name a stream.
    """
    spec = pravega_stream_spec(stream) if isinstance(stream, str) else stream
    of = StreamName.parse(stream_of(spec.key, spec.metadata))
    keys = {resource_key, *([] if registry_key is None else [registry_key])}

    @dg.multi_asset(
        specs=[spec],
        name=name or "copy_" + re.sub(r"\W", "_", "_".join(spec.key.path), flags=re.ASCII),
        required_resource_keys=keys,
        retry_policy=dg.RetryPolicy(max_retries=2, delay=30) if retry_policy is None else retry_policy,
    )
    def copied(context: dg.AssetExecutionContext) -> dg.MaterializeResult[Any]:
        pravega: PravegaResource = getattr(context.resources, resource_key)
        registry: SchemaRegistryResource | None = (
            None if registry_key is None else getattr(context.resources, registry_key)
        )
        with failing_for_good():
            need("kafka", "confluent_kafka")
            from pravega_jobs.kafka import CopyOptions, KafkaCluster, KafkaConfig, copy_topic

            file = settings_file or os.environ.get(_PROPERTIES)
            if file is None:
                raise ConfigurationError(
                    f"no settings of Kafka: name their file by settings_file, or set {_PROPERTIES}"
                )
            done = copy_topic(
                pravega.client,
                KafkaCluster(KafkaConfig.from_file(Path(file), timeout)),
                topic,
                of,
                options=CopyOptions.of(options) if options else None,
                ledger=commit_ledger,
                step_records=step_records,
                behind=behind,
                lost=lost,
                registry=None if registry is None else registry.registry,
            )
        context.log.info("%s", done)
        measures = {
            EVENTS_KEY: done.events,
            BYTES_KEY: done.bytes,
            "pravega/steps": done.steps,
            "kafka/left": done.left,
        }
        return dg.MaterializeResult(asset_key=spec.key, metadata=measures)

    return copied

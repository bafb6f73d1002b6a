"""The stream and the consumer of a condition: the stream that an asset reads, its consumer, and the unit of its times.

They are found as the asset's own input finds them, by the metadata of the graph of assets.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dagster import AssetKey, AssetsDefinition, AutomationContext, GraphDefinition, MultiPartitionsDefinition

from aiopravega import PravegaConfig, StreamName, TimeUnit
from aiopravega.errors import ConfigurationError
from dagster_pravega.metadata.cut_partitions import StreamCutPartitions
from dagster_pravega.metadata.measures import CONSUMER_KEY
from dagster_pravega.metadata.spec import STREAM_KEY, options_of, plain
from dagster_pravega.partitions.event_time_windows import unit_of
from dagster_pravega.resources.resource import PravegaResource
from pravega_jobs.identity.names import consumer_of_assets


@dataclass(frozen=True, slots=True)
class Watched:
    """A stream, the consumer of an asset that reads it, and the unit of the times that its writers note."""

    stream: StreamName
    consumer: str
    unit: TimeUnit


@dataclass(frozen=True, slots=True)
class Given:
    """The arguments of a condition that name something; None: it is found by the asset.

    Args:
        stream: `scope/stream`, or `stream` in the resource's scope.
        consumer: its name in the cut ledger.
        pravega: the cluster; None: that of the environment.
        needs_consumer: False if the condition is of the stream only.
    """

    stream: str | None = None
    consumer: str | None = None
    pravega: PravegaResource | None = None
    needs_consumer: bool = True

    def config(self) -> PravegaConfig:
        """The configuration of the cluster, with the values of variables of the environment."""
        resource = PravegaResource() if self.pravega is None else self.pravega
        with resource.process_config_and_initialize_cm() as made:
            return made.get_config()

    def of_asset(self, context: AutomationContext[AssetKey], config: PravegaConfig) -> Watched:
        """The stream and the consumer of the asset whose condition is evaluated.

        Raises:
            ConfigurationError: the asset does not read exactly one stream by one input, or has several consumers, and
                they are not given.
        """
        node: Any = context.asset_graph.get(context.key)
        made: AssetsDefinition = node.assets_def
        read = self._inputs(context, made, config)
        if node.is_observable and not read and STREAM_KEY in node.metadata:
            read = {"": (str(plain(node.metadata[STREAM_KEY])), node.metadata, {})}
        unclear = self.needs_consumer and self.consumer is None and bool(read)
        if len(read) != 1 and (self.stream is None or unclear):
            streams = ", ".join(f"{text} by {name!r}" for name, (text, *_) in sorted(read.items())) or "no stream"
            raise ConfigurationError(
                f"the condition of asset {context.key.to_user_string()} cannot tell its stream, as the asset "
                f"reads {streams}: give the condition stream='scope/stream' and consumer='NAME', a name of the cut "
                "ledger"
            )
        text, of_stream, of_input = next(iter(read.values())) if len(read) == 1 else ("", {}, {})
        name = StreamName.parse(self.stream or text, config.scope)
        consumer = self.consumer or (self._consumer(made, name, of_input) if self.needs_consumer else "")
        return Watched(name, consumer, unit_of(options_of(of_stream)))

    def _inputs(
        self, context: AutomationContext[AssetKey], made: AssetsDefinition, config: PravegaConfig
    ) -> dict[str, tuple[str, Mapping[str, Any], Mapping[str, Any]]]:
        """By the names of inputs that read a stream: the stream, its metadata, and the metadata of the input."""
        graph = context.asset_graph
        wanted = None if self.stream is None else StreamName.parse(self.stream, config.scope)
        inputs = made.node_def.input_dict if made.is_executable else {}
        found = {}
        for name, key in made.keys_by_input_name.items():
            metadata = graph.get(key).metadata if graph.has(key) else {}
            if STREAM_KEY in metadata:
                text = str(plain(metadata[STREAM_KEY]))
                if wanted is None or StreamName.parse(text, config.scope) == wanted:
                    found[name] = (text, metadata, inputs[name].metadata if name in inputs else {})
        return found

    def _consumer(self, made: AssetsDefinition, stream: StreamName, of_input: Mapping[str, Any]) -> str:
        partitions = made.partitions_def
        if isinstance(partitions, StreamCutPartitions) and partitions.stream == stream:
            return partitions.consumer
        given = plain(of_input.get(CONSUMER_KEY))
        keys = sorted(key.to_user_string() for key in made.keys)
        several = None
        if isinstance(partitions, MultiPartitionsDefinition):
            several = "each value of a dimension of its partitions is a consumer"
        elif made.is_executable and isinstance(made.node_def, GraphDefinition) and not given:
            several = "each op of a graph may be a consumer"
        if several is not None:
            raise ConfigurationError(
                f"the condition of {', '.join(keys)} cannot tell which consumer of {stream} is meant, because "
                f"{several}: give the condition consumer='NAME', by the cut ledger"
            )
        return str(given) if given else consumer_of_assets(keys)

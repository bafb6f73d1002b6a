"""The operator that checks that the events of a range decode with the schemas that their headers claim."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from airflow.sdk import XComArg

from aiopravega import UNBOUNDED, PravegaClient, PravegaConfig, StreamCutRange, StreamName
from aiopravega.errors import ConfigurationError
from aiopravega.gates import DataReport, check_data
from aiopravega.schema import RegistryConfig, SchemaRegistry
from airflow_pravega.operators.gating import FAIL, GateOperator

ALL: Final = "all"


class PravegaDataGateOperator(GateOperator):
    """Lets a DAG continue only if events decode with the schemas that their headers claim.

    The log has the number of events of each schema and version, and the offsets of the first events that do not decode,
    with the reason; the XCom has the same as JSON.

    Args:
        stream: `scope/stream`, or a stream of the connection's default scope. (templated)
        stream_cuts: the range, `{"start": text, "end": text}`, such as a sensor's output; by default the whole stream.
            (templated)
        sample: the most events that are decoded, taken at several offsets of the range; `all`: no limit. (templated)
        group: name of the registry's group; by default the stream's. (templated)
        namespace: namespace of the group; by default the scope's name, then the default namespace. (templated)
        on_violation: `fail`, `skip`, `ask`, or the ids of tasks that directly follow and are to run instead of the
            others.
        pravega_conn_id: id of the connection, which names the registry in its extra `schema_registry_uri`. (templated)
    """

    template_fields: Sequence[str] = (*GateOperator.template_fields, "stream_cuts", "sample", "group", "namespace")

    def __init__(
        self,
        *,
        stream: str,
        stream_cuts: Mapping[str, str] | XComArg | None = None,
        sample: int | str = 1000,
        group: str | None = None,
        namespace: str | None = None,
        on_violation: str | Sequence[str] = FAIL,
        **kwargs: Any,
    ) -> None:
        super().__init__(stream=stream, on_violation=on_violation, **kwargs)
        self.stream_cuts = stream_cuts
        self.sample = sample
        self.group = group
        self.namespace = namespace

    async def check(self, config: PravegaConfig, registry: RegistryConfig) -> DataReport:
        """Decode the events."""
        stream = StreamName.parse(self.stream, config.scope)
        range_ = self._range()
        async with PravegaClient(config) as client, SchemaRegistry(registry) as schemas:
            return await check_data(
                client,
                schemas,
                range_,
                stream,
                sample=_number(self.sample),
                group=self.group,
                namespace=self.namespace,
            )

    def _range(self) -> StreamCutRange:
        if self.stream_cuts is None:
            return StreamCutRange(UNBOUNDED, UNBOUNDED)
        if not isinstance(self.stream_cuts, Mapping):
            raise ConfigurationError(
                f"stream_cuts is {self.stream_cuts!r}, but must be a range with the texts start and end"
            )
        return StreamCutRange.from_json(self.stream_cuts)


def _number(sample: int | str) -> int | None:
    if sample == ALL:
        return None
    try:
        return int(sample)
    except ValueError:
        raise ConfigurationError(f"sample is {sample!r}, but must be a whole number, or {ALL!r}") from None

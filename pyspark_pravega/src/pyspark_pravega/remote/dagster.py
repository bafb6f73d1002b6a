"""A Spark job that Dagster has started by a Pipes client: it reads the ranges, and makes the write, that it has got.

It needs `dagster-pipes`, which is one module, and neither Dagster nor `dagster-pravega`. Dagster's side has decided
about the ranges and the name of the write. This side records only the write itself.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from aiopravega.config import PravegaConfig
from aiopravega.errors import ConfigurationError
from pravega_jobs.remote.orders import WorkOrder
from pyspark_pravega.remote.program import RemoteProgram

if TYPE_CHECKING:
    from dagster_pipes import PipesContext

_KEY: Final = "pravega"
_WAY: Final = (
    "call hand_over of dagster_pravega in the asset, and give its extras to the Pipes client: "
    "client.run(context=context, extras=work.extras, env=work.secrets, …)"
)


class PravegaPipes(RemoteProgram):
    """The reads, the write and the reports of a Pipes process. `open_pravega_pipes` makes it.

    The lines of `log` are in the log of Dagster's run; the inputs have the names of the asset's inputs.
    """

    way_to_read = _WAY
    way_to_write = _WAY.replace("hand_over", "hand_over(…, writes=…)")

    def __init__(self, context: "PipesContext", order: WorkOrder, config: PravegaConfig) -> None:
        super().__init__(order, config, context.log)
        self.context = context

    def report(self, values: Mapping[str, Any]) -> None:
        """Add values to the metadata of the materialization."""
        self.report_materialization(values)

    def report_materialization(
        self, metadata: Mapping[str, Any] | None = None, data_version: str | None = None
    ) -> None:
        """Add metadata to the materialization, and a data version, which is otherwise made of the cuts.

        Events, bytes, cuts and the result of the write are reported without this call.
        """
        self.context.report_asset_materialization(metadata=metadata, data_version=data_version)


@contextmanager
def open_pravega_pipes(*, connection: Mapping[str, Any] | None = None, **loaders: Any) -> Iterator[PravegaPipes]:
    """Open the work that this process has got by `hand_over` of `dagster_pravega`.

    Args:
        connection: fields of `PravegaConfig` that differ where the process runs, such as `ca_file` or
            `controller_uri`. Passwords and tokens come from the environment (`PRAVEGA_PASSWORD`, `PRAVEGA_TOKEN`).
        loaders: arguments of `open_dagster_pipes`: `context_loader`, `message_writer`, `params_loader`.

    Raises:
        ConfigurationError: `dagster-pipes` is not installed, no Pipes client has started this process, nothing was
            handed over, or a secret is not in the environment.
    """
    if find_spec("dagster_pipes") is None:
        raise ConfigurationError("the job needs dagster-pipes where it runs: pip install 'pyspark-pravega[pipes]'")
    from dagster_pipes import PipesEnvVarParamsLoader, open_dagster_pipes

    if not (loaders.get("params_loader") or PipesEnvVarParamsLoader()).is_dagster_pipes_process():
        raise ConfigurationError(f"no Pipes client of Dagster has started this process: {_WAY}")
    with open_dagster_pipes(**loaders) as context:
        if _KEY not in context.extras:
            raise ConfigurationError(f"nothing of Pravega was handed over to this process: {_WAY}")
        order = WorkOrder.from_json(context.extras[_KEY])
        pipes = PravegaPipes(context, order, order.config(**(connection or {})))
        try:
            yield pipes
            context.report_custom_message({_KEY: pipes.done()})
        finally:
            pipes.progress.end()

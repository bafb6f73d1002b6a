"""The identity of a write: which asset or partition, and which generation of it. The commit ledger knows the rest."""

from collections.abc import Sequence
from typing import Final

from dagster import AssetKey, Config, DagsterRun, OutputContext
from pydantic import Field

from aiopravega.errors import ConfigurationError

WRITE_ID_KEY: Final = "pravega/write_id"
GENERATION_KEY: Final = "pravega/generation"


class WriteConfig(Config):
    """What a run says about the write of an output."""

    rebuild: int | None = Field(
        default=None,
        description="generation of the write, for rows that are written again on purpose: 2 after 1 is done, and so "
        "on; default the run's tag pravega/rebuild, or 1",
    )


def write_name(context: OutputContext) -> str:
    """The name under which an output is written, once: the same for every try, another for every new write.

    A partition is written once. Without partitions, each run writes; the retry of a step, of a run, and whatever else
    is executed again from a run, counts as that run.

    Raises:
        ConfigurationError: the output is not one asset, or one partition of it.
    """
    if not context.has_asset_key:
        raise ConfigurationError(f"output {context.name!r} is not an asset, and only assets are written to streams")
    partitions = context.asset_partition_keys if context.has_asset_partitions else None
    return name_of_write(context.asset_key, partitions, context.step_context.dagster_run)


def name_of_write(key: AssetKey, partitions: Sequence[str] | None, run: DagsterRun) -> str:
    """The name under which an asset is written, as `write_name` gives it; `partitions` is None: it has none.

    Raises:
        ConfigurationError: there are several partitions.
    """
    asset = key.to_user_string()
    if partitions is None:
        return f"dagster/{asset}/run {run.root_run_id or run.run_id}"
    if len(partitions) != 1:
        raise ConfigurationError(
            f"{asset}: {len(partitions)} partitions in one run cannot be separated in a stream, so a later "
            "run of one of them would double it: give the asset BackfillPolicy.multi_run(1)"
        )
    return f"dagster/{asset}/partition {partitions[0]}"

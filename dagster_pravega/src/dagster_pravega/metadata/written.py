"""The identity of a write: its name by the asset, partition or run, and its generation."""

from collections.abc import Sequence
from typing import Final

from dagster import AssetKey, Config, DagsterRun, OutputContext
from pydantic import Field

from aiopravega.errors import ConfigurationError
from dagster_pravega.metadata.secured import STRICT
from dagster_pravega.metadata.steps import step_of
from pravega_jobs.identity.names import write_of_asset

WRITE_ID_KEY: Final = "pravega/write_id"
GENERATION_KEY: Final = "pravega/generation"


class WriteConfig(Config):
    """The run config of an output: the generation of its write."""

    model_config = STRICT

    rebuild: int | None = Field(
        default=None,
        description="generation of the write, for rows that are written again on purpose: 2 after 1 is done, and so "
        "on; default the run's tag pravega/rebuild, or 1",
    )


def write_name(context: OutputContext) -> str:
    """The name under which an output is written once: the same for all attempts, another for every new write.

    A partition is written once. Without partitions, each run writes; retries of a step or a run, and re-executions of a
    run, have the name of that run.

    Raises:
        ConfigurationError: the output is not one asset, or not one partition, or is not an output of a step.
    """
    step = step_of(context)
    if step is None:
        raise ConfigurationError(
            "a write has the name of its run or partition, and is done once under it, but this output is stored "
            "outside of a step: let dagster.materialize make the asset, or write with spark.write or a client's writer"
        )
    if not context.has_asset_key:
        raise ConfigurationError(f"output {context.name!r} is not an asset, and only assets are written to streams")
    partitions = context.asset_partition_keys if context.has_asset_partitions else None
    return name_of_write(context.asset_key, partitions, step.dagster_run)


def wrong_output(value: object, taken: str) -> ConfigurationError:
    """The refusal of an asset's value, with its type and the types that are `taken`."""
    kind = type(value)
    given = (
        "None"
        if value is None
        else f"{kind.__module__.partition('.')[0]}.{kind.__qualname__}".removeprefix("builtins.")
    )
    ways = "" if value is not None else ". An asset that writes nothing says so: annotate it with -> None"
    return ConfigurationError(f"the asset has returned {given}, but must return {taken}{ways}")


def claimant_of(run_id: str, step_key: str) -> str:
    """The work that writes: a step of one run, whose tries have the same code. A run executed again is other work.

    A further try of the step recognises by it what an earlier try has written.
    """
    return f"dagster/run {run_id}/step {step_key}"


def name_of_write(key: AssetKey, partitions: Sequence[str] | None, run: DagsterRun) -> str:
    """The name under which an asset is written, as for `write_name`; `partitions` is None for an asset without.

    Raises:
        ConfigurationError: there are several partitions.
    """
    asset = key.to_user_string()
    if partitions is not None and len(partitions) != 1:
        raise ConfigurationError(
            f"{asset}: {len(partitions)} partitions in one run cannot be separated in a stream, so a later "
            "run of one of them would double it: give the asset BackfillPolicy.multi_run(1)"
        )
    return write_of_asset(asset, partitions[0] if partitions else None, run.root_run_id or run.run_id)

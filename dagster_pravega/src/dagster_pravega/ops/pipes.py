"""Work for a Dagster Pipes process: the inputs and the write that are sent to it, and the result after its end.

The range is found and recorded as for every other input, and the write has the name and the generation of every other
output. The commit ledger has what the process has written. This module does not use an engine.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from dagster import AssetExecutionContext, AssetKey, MaterializeResult, PipesClientCompletedInvocation

from aiopravega.errors import ConfigurationError
from aiopravega.ledger import Sink
from dagster_pravega.io.remote_range import HandedRange
from dagster_pravega.io.write_measures import WrittenOutput, measures_of_inputs
from dagster_pravega.metadata.failures import failing_for_good
from dagster_pravega.metadata.measures import data_version
from dagster_pravega.metadata.rebuild_and_claim import generation_of
from dagster_pravega.metadata.steps import part_name
from dagster_pravega.metadata.written import claimant_of, name_of_write
from dagster_pravega.resources.resource import PravegaResource
from pravega_jobs.remote.orders import (
    WorkOrder,
    WriteOrder,
    connection_without_secrets,
    secrets_environment,
)
from pravega_jobs.spark.options import LEDGER_OPTION
from pravega_jobs.writes import Written, finished_write

# The key of the message to the process, and of its report.
PIPES_KEY: Final = "pravega"


@dataclass(frozen=True)
class RemoteRun:
    """The work of one Pipes process. Give its client `extras`, which Dagster may log, and `secrets` as environment.

    Call `done` when the client has returned.
    """

    pravega: PravegaResource = field(repr=False)
    reads: tuple[HandedRange, ...]
    order: WorkOrder
    asset: AssetKey
    of_partition: bool = False

    @property
    def extras(self) -> dict[str, Any]:
        """The extras of the Pipes client: ranges, the write, and the connection without secrets."""
        return {PIPES_KEY: self.order.to_json()}

    @property
    def secrets(self) -> dict[str, str]:
        """Environment variables of the process: passwords and tokens, if there are any.

        Give them to clients that do not show them, such as by the `env` of `PipesSubprocessClient`. With other clients,
        let the platform's own secrets set these variables.
        """
        output = self.order.output
        options = [read.ranges.options for read in self.reads] + ([] if output is None else [output.options])
        return secrets_environment(self.pravega.get_config(), *options)

    def done(
        self, finished: PipesClientCompletedInvocation, metadata: Mapping[str, Any] | None = None
    ) -> MaterializeResult[None]:
        """The result of the asset: the report of the process, with the numbers of its reads and its write.

        The partitions that it has read are recorded as done in the cut ledger. The data version is the reported one; by
        default it is the cuts of the write, or of the only input.

        Args:
            finished: the result of the client.
            metadata: more metadata of the materialization.

        Raises:
            Failure: the process has not read an input, or has not made its write.
            PravegaError: the cluster cannot be reached.
        """
        with failing_for_good():
            reported = _reported(finished)
            for read in self.reads:
                read.count.reported = self._read_by(reported, read)["events"]
            numbers, version = self._described(reported)
        result = finished.get_materialize_result()
        for read in self.reads:
            read.ranges.finish()
        return MaterializeResult[None](
            asset_key=result.asset_key,
            metadata={**(metadata or {}), **(result.metadata or {}), **numbers},
            data_version=result.data_version or version,
            check_results=result.check_results,
            tags=result.tags,
        )

    def _read_by(self, reported: Mapping[str, Any], read: HandedRange) -> Mapping[str, Any]:
        inputs: Mapping[str, Any] = reported["inputs"]
        if read.name not in inputs:
            raise ConfigurationError(
                f"the process has ended well, but it has not read input {read.name!r}, so that its range is not done: "
                f"let it call pipes.read(spark, {read.name!r}) within open_pravega_pipes of "
                "pyspark_pravega.remote.dagster"
            )
        report: Mapping[str, Any] = inputs[read.name]
        return report

    def _described(self, reported: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
        """Metadata and data version: of the write, or, without a write, of the inputs."""
        inputs = {read.name: read.ranges for read in self.reads}
        output = self.order.output
        if output is not None:
            written = self._written(output, reported.get("output"))
            metadata = written.metadata(self.pravega.client, output.generation, of_partition=self.of_partition)
            version = None if written.cuts is None else data_version(written.cuts)
            return {**metadata, **measures_of_inputs(inputs)}, version
        if len(self.reads) == 1:
            [read] = self.reads
            return read.metadata(), read.data_version
        return measures_of_inputs(inputs), None

    def _written(self, output: WriteOrder, reported: Mapping[str, Any] | None) -> WrittenOutput:
        client, ledger = self.pravega.client, output.options.get(LEDGER_OPTION)
        find = finished_write(client.asynchronous, output.stream, output.write_id, ledger, output.generation)
        record = client.run(find)
        if record is None or reported is None:
            raise ConfigurationError(
                f"the process has ended well, but it has not written {output.write_id!r} to {output.stream}: let it "
                "call pipes.write(frame) within open_pravega_pipes of pyspark_pravega.remote.dagster, or leave out "
                "writes"
            )
        done = Written(record, by_this_try=reported["by_this_try"], seconds=reported["seconds"])
        return WrittenOutput.find(client, output.stream, done)


def hand_over(
    context: AssetExecutionContext,
    pravega: PravegaResource,
    *reads: HandedRange,
    writes: str | None = None,
    options: Mapping[str, str] | None = None,
) -> RemoteRun:
    """Let a process read ranges, and write to a stream exactly once, by any Pipes client of Dagster.

    The process uses `open_pravega_pipes` of `pyspark_pravega.remote.dagster`. If it is killed and the step's retry
    starts it again, it gets the same ranges, and repeats the same write.

    Args:
        context: of the asset.
        pravega: the cluster of the inputs and of the write.
        reads: inputs of the type `HandedRange`.
        writes: `scope/stream` that the process writes to, under the name of the asset's partition, or of the run; None:
            it does not write. The generation comes from the run's tag `pravega/rebuild`.
        options: more options of the write by Spark's data source, such as `commit_ledger`.

    Raises:
        Failure: the step makes several assets, or several partitions that cannot be separated in a stream; or a name
            is not valid.
    """
    with failing_for_good():
        step = context.get_step_execution_context()
        assets = sorted(step.get_output_asset_keys(), key=lambda key: key.to_user_string())
        if len(assets) != 1:
            raise ConfigurationError(
                f"{len(assets)} assets of one step are handed over together, but a process does the work of one: give "
                "each asset a step of its own"
            )
        config = pravega.get_config()
        [output] = context.op_execution_context.selected_output_names
        of_partition = step.has_asset_partitions_for_output(output)
        write = None
        if writes is not None:
            partitions = list(context.partition_keys) if of_partition else None
            write = WriteOrder(
                pravega.stream_name(writes),
                name_of_write(assets[0], partitions, context.run),
                generation_of(None, context.run),
                claimant_of(step.run_id, step.step.key),
                dict(options or {}),
            )
            sink = Sink(
                kind="write",
                target=str(write.stream),
                id=write.write_id,
                generation=write.generation,
                ledger=write.options.get(LEDGER_OPTION),
            )
            for read in reads:
                read.ranges.declare(part_name(step, output), sink)
        inputs = {read.name: read.order() for read in reads}
        order = WorkOrder(connection_without_secrets(config), inputs, write)
    return RemoteRun(pravega, reads, order, assets[0], of_partition)


def _reported(finished: PipesClientCompletedInvocation) -> Mapping[str, Any]:
    """The report of the process at its end; without inputs if it has not used `open_pravega_pipes`."""
    report: Mapping[str, Any] = {"inputs": {}}
    for message in finished.get_custom_messages():
        if isinstance(message, Mapping) and PIPES_KEY in message:
            report = message[PIPES_KEY]
    return report

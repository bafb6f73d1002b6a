"""Metadata of a materialization about a write, of this or another process: by its ledger record, and by its inputs.

This module does not use an engine.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from dagster import MetadataValue

from aiopravega import StreamCutRange, StreamName
from aiopravega.blocking import PravegaClient
from dagster_pravega.metadata.measures import (
    CLAIM_KEY,
    CONSUMER_KEY,
    ERRORS_KEY,
    ERRORS_TABLE_KEY,
    FIRST_ERROR_KEY,
    FROM_HEAD_KEY,
    MARKS_KEY,
    PARTITION_KEY,
    ROWS_OF_PARTITION_KEY,
    TIMES_KEY,
    WHOLE_KEY,
    measures,
    range_measures,
    segments_table,
    updated_at,
)
from dagster_pravega.metadata.spec import table_metadata
from dagster_pravega.metadata.written import GENERATION_KEY, WRITE_ID_KEY
from dagster_pravega.partitions.input_range import InputRange
from pravega_jobs.writes import Written

_INPUTS_KEY: Final = "pravega/inputs"
# Metadata of the only input that the output also gets; the write has its own cuts and numbers.
_OF_ONE_INPUT: Final = (CONSUMER_KEY, PARTITION_KEY, TIMES_KEY, MARKS_KEY, FROM_HEAD_KEY, WHOLE_KEY, CLAIM_KEY)


@dataclass(frozen=True, slots=True)
class WrittenOutput:
    """A finished write to a stream, with the cuts before and after it, if the account may read them."""

    stream: StreamName
    done: Written
    cuts: StreamCutRange | None

    @classmethod
    def find(cls, client: PravegaClient, stream: StreamName, done: Written) -> "WrittenOutput":
        """The finished write, with its cuts resolved against the stream.

        Raises:
            PravegaError: the cluster cannot be asked.
        """
        cuts = done.record.cuts
        return cls(stream, done, client.resolve(cuts, stream) if cuts else None)

    def metadata(self, client: PravegaClient, generation: int, *, of_partition: bool) -> dict[str, Any]:
        """Numbers, cuts, name, generation and time; with `of_partition`, also the rows of the partition.

        The number of all rows of a stream is not known without reading it.
        """
        record = self.done.record
        seconds = self.done.seconds if self.done.by_this_try else None
        metadata: dict[str, Any] = {
            **measures(str(self.stream), record.total_events, record.total_bytes, seconds),
            **table_metadata(self.stream),
            **({ROWS_OF_PARTITION_KEY: record.total_events} if of_partition else {}),
            **({} if record.done_at is None else updated_at(record.done_at)),
            WRITE_ID_KEY: record.write_id,
            GENERATION_KEY: generation,
        }
        if record.errors is not None:
            metadata |= {ERRORS_KEY: record.errors.rows, ERRORS_TABLE_KEY: record.errors.sink}
            metadata |= {} if record.errors.first is None else {FIRST_ERROR_KEY: record.errors.first}
        if self.cuts is not None:
            metadata |= segments_table(client.plan(self.cuts, self.stream)) | range_measures([self.cuts])
        return metadata


def measures_of_inputs(inputs: Mapping[str, InputRange]) -> dict[str, Any]:
    """Metadata of the inputs of an output: one input's entries as the output's, several inputs' under their names."""
    described = {name: read.metadata() for name, read in inputs.items()}
    if len(described) == 1:
        [metadata] = described.values()
        return {name: value for name, value in metadata.items() if name in _OF_ONE_INPUT}
    if not described:
        return {}
    plain = {
        name: {
            "stream": str(inputs[name].stream),
            "ranges": [piece.cuts.to_json() for piece in inputs[name].pieces],
            **{key: value for key, value in metadata.items() if key in _OF_ONE_INPUT},
        }
        for name, metadata in described.items()
    }
    return {_INPUTS_KEY: MetadataValue.json(plain)}

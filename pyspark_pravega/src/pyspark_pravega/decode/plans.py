"""Plans of decoding in a read by Spark: the rules of `pravega_jobs.decoding`, with the columns as Spark's types."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.types import StructType

from aiopravega.config import PravegaConfig
from aiopravega.names import StreamName
from pravega_jobs.decoding.options import DecodeOptions
from pravega_jobs.decoding.plan import DecodePlan, Decoder
from pyspark_pravega.arrow_types import arrow_schema, of_user, spark_schema

if TYPE_CHECKING:
    from aiopravega.schema import SchemaVersion
    from pravega_jobs.decoding.registries import Registered


@dataclass(frozen=True, slots=True)
class SparkPlan:
    """A plan that is sent to the tasks; `schema` has its columns as Spark's types."""

    plan: DecodePlan
    schema: StructType

    @property
    def arrow_schema(self) -> pa.Schema:
        """The decoded fields as Arrow's types, as Spark expects them in the batches."""
        return self.plan.schema

    @property
    def kept(self) -> str | None:
        """The column of events that cannot be decoded; None: they have no rows."""
        return self.plan.kept

    @property
    def pinned(self) -> Mapping[str, str]:
        """Options by which a later read has the same fields, although the registry has newer schemas."""
        return self.plan.pinned

    def decoder(self) -> Decoder:
        """A decoder for one task."""
        return self.plan.decoder()


def decode_plan(
    options: DecodeOptions,
    config: PravegaConfig,
    streams: Collection[StreamName],
    given: StructType | None = None,
) -> SparkPlan:
    """Make the plan by which the events of some streams become columns.

    Args:
        options: options of the read.
        config: configuration of the cluster; the registry gets its credentials, unless the options give others.
        streams: the streams of the read.
        given: the columns of events that the user gave, by option or to Spark's reader.

    Raises:
        ConfigurationError: no schema is given, or it cannot become columns.
        GroupNotFoundError: the registry has no group for a stream.
        PravegaError: the registry does not answer.
    """
    from pravega_jobs.decoding import planning

    own = given if options.takes_columns else None
    return _with_types(planning.decode_plan(options, config, streams, _columns(own)), own)


def change_plan(
    options: DecodeOptions,
    asked: tuple[str, ...],
    given: StructType | None,
    newest: Callable[[], str],
    registered: "Callable[[], tuple[Registered, SchemaVersion]]",
) -> SparkPlan:
    """Make the plan by which change events become rows; see `pravega_jobs.decoding.change_planning`.

    Raises:
        ConfigurationError: the options cannot work, or no columns are known.
    """
    from pravega_jobs.decoding import change_planning

    return _with_types(change_planning.change_plan(options, asked, _columns(given), newest, registered), given)


def _columns(given: StructType | None) -> pa.Schema | None:
    return None if given is None else arrow_schema(of_user(given))


def _with_types(plan: DecodePlan, given: StructType | None) -> SparkPlan:
    return SparkPlan(plan, spark_schema(plan.schema) if given is None else given)

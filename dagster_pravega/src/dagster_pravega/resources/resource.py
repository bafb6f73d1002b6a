"""The resource by which assets reach a Pravega cluster.

It has one blocking client per run or step, and gives the same connection as options of Spark's data source.
"""

from pydantic import Field

from aiopravega import UNBOUNDED, PravegaConfig, StreamCut, StreamCutRange, StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.ledger import CommitRecord
from aiopravega.positions import parse_position
from dagster_pravega.metadata.secured import SecuredResource
from pravega_jobs.ranges import FixedRange, fix_range
from pravega_jobs.spark.options import STREAM_OPTION, connection_options, range_options


class PravegaResource(SecuredResource["PravegaResource"]):
    """A Pravega cluster: its address, and the credentials.

    Fields that are not given come from the environment (`PRAVEGA_CONTROLLER_URI`, `PRAVEGA_USERNAME`, …). Give secrets
    as `dagster.EnvVar`: Dagster stores the name of the variable then, not its value.

    A run checks the configuration when it sets the resource up. The first call that needs a connection opens it, so
    that a failure belongs to the step of the call; the end of the run closes it.
    """

    controller_uri: str | None = Field(
        default=None, description="tcp://host:port or tls://host:port of the controller; default tcp://localhost:9090"
    )
    scope: str | None = Field(default=None, description="scope of streams that are named without one")
    ca_file: str | None = Field(
        default=None, description="PEM file of the certificate authority, for tls://; default the system's authorities"
    )
    verify_hostname: bool | None = Field(
        default=None, description="check that the servers' certificates contain their names; default true"
    )
    max_event_bytes: int | None = Field(
        default=None, description="the longest event that a reader accepts, in bytes; default 2147483639"
    )
    connect_timeout: float | None = Field(
        default=None, description="limit for opening one connection, in seconds; default 10"
    )
    request_timeout: float | None = Field(
        default=None, description="limit for the answer to one request, in seconds; default 30"
    )
    retry_timeout: float | None = Field(
        default=None, description="limit for all attempts after retryable failures, in seconds; default 60"
    )

    def get_config(self) -> PravegaConfig:
        """The configuration of the client.

        Raises:
            ConfigurationError: a field, or a variable of the environment, is not valid.
        """
        given = {name: getattr(self, name) for name in type(self).model_fields if name in PravegaConfig.model_fields}
        return PravegaConfig(**{name: value for name, value in given.items() if value is not None})

    @property
    def client(self) -> PravegaClient:
        """The blocking client of this run; do not close it.

        Raises:
            PravegaConnectionError: no controller answers.
            SecurityError: the credentials or the certificate are refused.
        """
        if self._opened is None:
            self._opened = PravegaClient(self.get_config()).__enter__()
        opened: PravegaClient = self._opened
        return opened

    def stream_name(self, stream: str) -> StreamName:
        """Read `scope/stream`, or `stream` in the default scope.

        Raises:
            ConfigurationError: the text is neither.
        """
        return StreamName.parse(stream, self.get_config().scope)

    def head(self, stream: str) -> StreamCut:
        """The first cut of a stream that can still be read.

        Raises:
            StreamNotFoundError: there is no such stream.
        """
        name = self.stream_name(stream)
        return self.client.head(name)

    def tail(self, stream: str) -> StreamCut:
        """The cut after the last event that is written now.

        Raises:
            StreamNotFoundError: there is no such stream.
        """
        name = self.stream_name(stream)
        return self.client.tail(name)

    def range(self, stream: str, start: str | None = None, end: str | None = None) -> StreamCutRange:
        """A range of a stream with both ends fixed, and checked against the stream.

        `start` and `end` are texts of StreamCuts, or `earliest`, `latest` or `unbounded` as in Spark's options. None is
        `unbounded`: the head as a start, the tail as an end.

        Raises:
            StreamNotFoundError: there is no such stream.
            StreamTruncatedError: retention or a truncation removed a part of the range.
            InvalidRangeError: the end is before the start, or after the tail.
            InvalidStreamCutError: a text is not a cut, or a cut of another stream.
        """
        return self.fix_range(stream, start, end).cuts

    def fix_range(self, stream: str, start: str | None = None, end: str | None = None) -> FixedRange:
        """Fix a range as `range` does; the result also has its size in bytes."""
        name = self.stream_name(stream)
        first, last = (parse_position(text, name) if text else UNBOUNDED for text in (start, end))
        return self.client.run(fix_range(self.client.asynchronous, name, first, last))

    def written(self, stream: str, write_id: str, ledger: str | None = None) -> list[CommitRecord]:
        """The records of an exactly-once write: one for each generation that is done, in ascending order.

        A record has the generation, the cuts before and after its events, and their number. `write_id` is in the
        metadata `pravega/write_id` of materializations. `ledger` is `scope/table`; None: the ledger in the stream's
        scope.

        Raises:
            StreamNotFoundError: there is no such stream.
            TableNotFoundError: there is no such ledger.
        """
        name = self.stream_name(stream)
        return self.client.written(name, write_id, ledger=ledger)

    def spark_options(self, stream: str | None = None, cuts: StreamCutRange | None = None) -> dict[str, str]:
        """Options for `spark.read.format("pravega")` and `df.write.format("pravega")`, with secrets.

        With a stream, they name it; with cuts, they bound a read.

        Raises:
            ConfigurationError: the configuration or the name of the stream is not valid.
        """
        return {
            **connection_options(self.get_config()),
            **({} if stream is None else {STREAM_OPTION: str(self.stream_name(stream))}),
            **({} if cuts is None else range_options(cuts)),
        }

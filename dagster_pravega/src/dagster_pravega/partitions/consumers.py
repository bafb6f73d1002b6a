"""The consumer of an input in the cut ledger: its name, and the name that earlier releases gave it."""

from dataclasses import dataclass
from typing import Any

from dagster import InputContext

from aiopravega.blocking import PravegaClient
from aiopravega.errors import ConfigurationError, TableNotFoundError
from aiopravega.ledger import Interval
from dagster_pravega.metadata.measures import CONSUMER_KEY
from dagster_pravega.metadata.spec import plain
from dagster_pravega.metadata.steps import consumer_name, former_consumer_name, input_name


@dataclass(frozen=True, slots=True)
class Consumer:
    """The consumer of an input. `former` is its name in earlier releases, if that was another one."""

    name: str
    former: str | None = None

    def with_rest(self, rest: str) -> "Consumer":
        """The consumer of a part of the partitions: `rest` is the part of their keys that is not a time, or empty."""
        if not rest:
            return self
        return Consumer(f"{self.name} {rest}", None if self.former is None else f"{self.former} {rest}")

    def check_continued(self, client: PravegaClient, interval: Interval, *, chained: bool) -> None:
        """Refuse to begin again what an earlier release has begun under the former name.

        Args:
            client: a connected client.
            interval: of this consumer.
            chained: the interval follows the last one; otherwise it is claimed for itself.

        Raises:
            ConfigurationError: the ledger has ranges under the former name, and none under this one.
        """
        if self.former is None:
            return
        ledger, stream = client.cut_ledger(interval.stream.scope), interval.stream
        look = ledger.last if chained else ledger.find
        try:
            if look(interval) is not None or look(Interval(self.former, stream, interval.name)) is None:
                return
        except TableNotFoundError:
            return
        raise ConfigurationError(
            f"the cut ledger has ranges of {stream} for {self.former!r}, which an earlier release named this input, "
            f"and none for {self.name!r}, which is its name now: with it, it would read them again. To continue "
            f"them, give the input the metadata {{{CONSUMER_KEY!r}: {self.former!r}}}, one input only if several had "
            f"this name. To begin again, give it {{{CONSUMER_KEY!r}: {self.name!r}}}, or another new name"
        )


def consumer_of(context: InputContext) -> Consumer:
    """The consumer of an input: `pravega/consumer` of its metadata, or `dagster/` and the asset, or the job and the op.

    Raises:
        ConfigurationError: the metadata is not a name, or no name can be made for the step.
    """
    given: Any = plain(context.definition_metadata.get(CONSUMER_KEY))
    if given is not None:
        if not isinstance(given, str) or not given:
            raise ConfigurationError(
                f"{input_name(context)}: the metadata {CONSUMER_KEY!r} is {given!r}, but must be a name"
            )
        return Consumer(given)
    name, former = consumer_name(context), former_consumer_name(context)
    return Consumer(name, None if former == name else former)

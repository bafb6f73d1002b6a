"""Options of a streaming query, read once, on the driver."""

from dataclasses import dataclass
from typing import Final, Self

from aiopravega.errors import ConfigurationError
from aiopravega.names import check_name
from pravega_jobs.decoding.option_texts import Options

_MAX_BYTES: Final = "max_bytes_per_trigger"
# The name in Pravega's JVM connector.
_APPROX_BYTES: Final = "approx_bytes_per_trigger"
_SUBSCRIBER: Final = "subscriber"

_GROUP: Final = "reader_group"

STREAMING_OPTIONS: Final = (_MAX_BYTES, _APPROX_BYTES, _SUBSCRIBER, _GROUP)


@dataclass(frozen=True, slots=True)
class StreamingOptions:
    """The settings of a streaming query that have no effect on a batch job.

    `max_bytes` is the approximate bytes of one micro-batch, event headers included; None: all that there are.
    `subscriber` is the name under which the streams' retention waits for the query; None: retention does not wait.
    `reader_group`, `name` or `scope/name`, is the group whose position is the query's; retention also waits for it.
    """

    max_bytes: int | None = None
    subscriber: str | None = None
    reader_group: str | None = None

    @classmethod
    def parse(cls, given: Options) -> Self:
        """Read the options of streaming.

        Raises:
            ConfigurationError: an option cannot work.
        """
        numbers = {name: given.number(name) for name in (_MAX_BYTES, _APPROX_BYTES)}
        if None not in numbers.values():
            raise ConfigurationError(f"options {_MAX_BYTES!r} and {_APPROX_BYTES!r} are the same: give one of them")
        subscriber = given.text(_SUBSCRIBER)
        if subscriber is not None:
            check_name("subscriber", subscriber)
        group = given.text(_GROUP)
        if group is not None:
            check_name("reader group", group.rpartition("/")[2])
            if subscriber is not None:
                raise ConfigurationError(
                    f"options {_SUBSCRIBER!r} and {_GROUP!r} both have retention wait for the query: give one of them"
                )
        return cls(numbers[_MAX_BYTES] or numbers[_APPROX_BYTES], subscriber, group)

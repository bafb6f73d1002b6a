"""A second Debezium, on tables of a test's own, whose events all go to one stream of one segment."""

import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Self

from tests.faults.process import wait_until
from tests.system.cdc.debezium import Debezium
from tests.system.cdc.shop import Shop

from aiopravega import StreamCut, StreamCutRange, StreamName

_ROUTER: Final = {"debezium.transforms.under.regex": ".*", "debezium.transforms.under.replacement": "all"}


class SecondDebezium:
    """It runs as long as the `with` lasts.

    Args:
        shop: whose database has the tables.
        folder: for its files.
        tables: their names.
        settings: that differ from those of the shop's Debezium.
    """

    def __init__(
        self, shop: Shop, folder: Path, tables: Sequence[str], settings: Mapping[str, str] | None = None
    ) -> None:
        name = f"t{uuid.uuid4().hex}"
        self.stream = StreamName(name, "all")
        self._client = shop.client
        # Each connector takes of these what is its own.
        own = {"slot.name": name, "publication.name": name, "database.server.id": str(uuid.uuid4().int % 2**31)}
        own["table.include.list"] = ",".join(f"{shop.database.schema}.{table}" for table in tables)
        source = shop.database.source(folder) | own
        self.server = Debezium(folder, shop.config.controller_uri, name, source)
        self.server.settings |= _ROUTER | dict(settings or {})

    def __enter__(self) -> Self:
        self._client.create_scope(self.stream.scope)
        self._client.create_stream(self.stream)
        self.server.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.server.kill()

    def tail(self) -> StreamCut:
        """The cut after all events."""
        return self._client.tail(self.stream)

    def events(self) -> list[bytes]:
        """All events, in the order of the stream."""
        head = self._client.head(self.stream)
        return [event.data for event in self._client.read(StreamCutRange(head, self.tail()))]

    def tail_after(self, text: bytes) -> StreamCut:
        """Wait for an event that has a text; returns a cut after it."""

        def is_there() -> bool:
            self.server.look_after()
            return any(text in event for event in self.events())

        wait_until(is_there, self.server.said, every=0.3)
        return self.tail()

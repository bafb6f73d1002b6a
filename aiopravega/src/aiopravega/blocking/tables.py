"""The blocking form of key-value tables."""

from collections.abc import Iterable, Iterator

from aiopravega.loop import LoopThread
from aiopravega.tables import KeyValueTable as AsyncTable
from aiopravega.tables import TableEntry


class KeyValueTable:
    """See `aiopravega.tables.KeyValueTable`."""

    def __init__(self, loop: LoopThread, table: AsyncTable) -> None:
        self._loop = loop
        self._table = table

    def get(self, key: bytes) -> TableEntry | None:
        """The entry of a key, or None."""
        return self._loop.run(self._table.get(key))

    def put(self, key: bytes, value: bytes) -> int:
        """Set a key whatever it was; returns the new version."""
        return self._loop.run(self._table.put(key, value))

    def put_if_absent(self, key: bytes, value: bytes) -> int:
        """Set a key that must not exist; returns its version."""
        return self._loop.run(self._table.put_if_absent(key, value))

    def replace(self, key: bytes, value: bytes, version: int) -> int:
        """Set a key that must have `version`; returns the new one."""
        return self._loop.run(self._table.replace(key, value, version))

    def remove(self, key: bytes, version: int | None = None) -> None:
        """Remove a key, if given only in that version."""
        self._loop.run(self._table.remove(key, version))

    def remove_all(self, keys: Iterable[bytes]) -> None:
        """Remove keys, whatever their versions, with few requests; those that do not exist are fine."""
        self._loop.run(self._table.remove_all(keys))

    def entries(self, first: bytes = b"", last: bytes = b"") -> Iterator[TableEntry]:
        """All entries, or those with keys from `first` to `last`, in no order."""
        return self._loop.iterate(self._table.entries(first, last))

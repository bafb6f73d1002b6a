"""The controller's calls about key-value tables."""

from aiopravega.control.convert import key_ranges
from aiopravega.control.model import KeyRange, TableConfiguration
from aiopravega.control.proto import controller_pb2 as pb
from aiopravega.control.rpc import Rpc, all_pages
from aiopravega.control.status import succeeded
from aiopravega.errors import ConfigurationError, ScopeNotFoundError, TableNotFoundError
from aiopravega.names import INTERNAL_PREFIX, table_stream


class TableCalls:
    """Part of `Controller`."""

    _rpc: Rpc

    async def create_table(
        self, scope: str, table: str, partitions: int, key_length: int, secondary_key_length: int = 0
    ) -> bool:
        """Make a key-value table whose keys have exactly `key_length` bytes (and a second part of fixed length).

        Returns False if it exists already, whatever its key length.

        Raises:
            ScopeNotFoundError: its scope does not exist.
            ConfigurationError: a number is too small.
        """
        what = f"create key-value table {scope}/{table}"
        if partitions < 1 or key_length < 1 or secondary_key_length < 0:  # the controller would fail inside
            raise ConfigurationError(
                f"cannot {what}: it needs at least one partition and keys of at least one byte, but {partitions} "
                f"partitions and keys of {key_length} + {secondary_key_length} bytes were requested"
            )
        config = pb.KeyValueTableConfig(
            scope=scope,
            kvtName=table,
            partitionCount=partitions,
            primaryKeyLength=key_length,
            secondaryKeyLength=secondary_key_length,
        )
        answer = await self._rpc.call("createKeyValueTable", config, pb.CreateKeyValueTableStatus, what)
        return succeeded(pb.CreateKeyValueTableStatus.Status, answer.status, what, "TABLE_EXISTS")

    async def table_exists(self, scope: str, table: str) -> bool:
        """True if the key-value table exists."""
        try:
            await self.table_configuration(scope, table)
        except TableNotFoundError:
            return False
        return True

    async def table_configuration(self, scope: str, table: str) -> TableConfiguration:
        """The configuration with which a key-value table was made.

        Raises:
            TableNotFoundError: the table does not exist.
        """
        what = f"read the configuration of key-value table {scope}/{table}"
        answer = await self._rpc.call(
            "getKeyValueTableConfiguration",
            pb.KeyValueTableInfo(scope=scope, kvtName=table),
            pb.KeyValueTableConfigResponse,
            what,
        )
        succeeded(pb.KeyValueTableConfigResponse.Status, answer.status, what)
        made = answer.config
        return TableConfiguration(made.partitionCount, made.primaryKeyLength, made.secondaryKeyLength)

    async def table_segments(self, scope: str, table: str) -> list[KeyRange]:
        """The segments of a key-value table, in the order of the key space.

        Raises:
            TableNotFoundError: the table does not exist.
        """
        answer = await self._rpc.call(
            "getCurrentSegmentsKeyValueTable",
            pb.KeyValueTableInfo(scope=scope, kvtName=table),
            pb.SegmentRanges,
            f"list the segments of key-value table {scope}/{table}",
            missing=TableNotFoundError,
        )
        return key_ranges(table_stream(scope, table), answer.segmentRanges)

    async def delete_table(self, scope: str, table: str) -> bool:
        """Delete a key-value table with all its entries; returns False if there was none."""
        what = f"delete key-value table {scope}/{table}"
        answer = await self._rpc.call(
            "deleteKeyValueTable", pb.KeyValueTableInfo(scope=scope, kvtName=table), pb.DeleteKVTableStatus, what
        )
        return succeeded(pb.DeleteKVTableStatus.Status, answer.status, what, "TABLE_NOT_FOUND")

    async def list_tables(self, scope: str) -> list[str]:
        """The names of the key-value tables of a scope, sorted; Pravega's internal ones are left out.

        Raises:
            ScopeNotFoundError: the scope does not exist.
        """
        what = f"list the key-value tables of scope {scope}"

        async def fetch(token: pb.ContinuationToken) -> pb.KVTablesInScopeResponse:
            page = await self._rpc.call(
                "listKeyValueTablesInScope",
                pb.KVTablesInScopeRequest(scope=pb.ScopeInfo(scope=scope), continuationToken=token),
                pb.KVTablesInScopeResponse,
                what,
                missing=ScopeNotFoundError,
            )
            succeeded(pb.KVTablesInScopeResponse.Status, page.status, what)
            return page

        pages = await all_pages(fetch, lambda page: len(page.kvtables))
        names = {info.kvtName for page in pages for info in page.kvtables}
        return sorted(name for name in names if not name.startswith(INTERNAL_PREFIX))

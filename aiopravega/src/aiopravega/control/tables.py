"""The controller's calls about key-value tables."""

from aiopravega.control.convert import key_ranges
from aiopravega.control.model import KeyRange
from aiopravega.control.proto import controller_pb2 as pb
from aiopravega.control.rpc import Rpc
from aiopravega.control.status import refusal
from aiopravega.errors import ScopeNotFoundError, TableNotFoundError
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
        """
        what = f"create key-value table {scope}/{table}"
        config = pb.KeyValueTableConfig(
            scope=scope,
            kvtName=table,
            partitionCount=partitions,
            primaryKeyLength=key_length,
            secondaryKeyLength=secondary_key_length,
        )
        answer = await self._rpc.call("createKeyValueTable", config, pb.CreateKeyValueTableStatus, what)
        status = pb.CreateKeyValueTableStatus.Status.Name(answer.status)
        if status not in ("SUCCESS", "TABLE_EXISTS"):
            raise refusal(status, what)
        return status == "SUCCESS"

    async def table_exists(self, scope: str, table: str) -> bool:
        """Whether there is such a key-value table."""
        what = f"look for key-value table {scope}/{table}"
        answer = await self._rpc.call(
            "getKeyValueTableConfiguration",
            pb.KeyValueTableInfo(scope=scope, kvtName=table),
            pb.KeyValueTableConfigResponse,
            what,
        )
        status = pb.KeyValueTableConfigResponse.Status.Name(answer.status)
        if status not in ("SUCCESS", "TABLE_NOT_FOUND"):
            raise refusal(status, what)
        return status == "SUCCESS"

    async def table_segments(self, scope: str, table: str) -> list[KeyRange]:
        """The segments of a key-value table, in the order of the key space.

        Raises:
            TableNotFoundError: there is no such table.
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
        status = pb.DeleteKVTableStatus.Status.Name(answer.status)
        if status not in ("SUCCESS", "TABLE_NOT_FOUND"):
            raise refusal(status, what)
        return status == "SUCCESS"

    async def list_tables(self, scope: str) -> list[str]:
        """The names of the key-value tables of a scope, sorted; Pravega's internal ones are left out.

        Raises:
            ScopeNotFoundError: there is no such scope.
        """
        what = f"list the key-value tables of scope {scope}"
        found: set[str] = set()
        token = pb.ContinuationToken()
        while True:
            page = await self._rpc.call(
                "listKeyValueTablesInScope",
                pb.KVTablesInScopeRequest(scope=pb.ScopeInfo(scope=scope), continuationToken=token),
                pb.KVTablesInScopeResponse,
                what,
                missing=ScopeNotFoundError,
            )
            if page.status != pb.KVTablesInScopeResponse.SUCCESS:
                raise refusal(pb.KVTablesInScopeResponse.Status.Name(page.status), what)
            found.update(info.kvtName for info in page.kvtables if not info.kvtName.startswith(INTERNAL_PREFIX))
            if not page.kvtables or page.continuationToken == token:
                return sorted(found)
            token = page.continuationToken

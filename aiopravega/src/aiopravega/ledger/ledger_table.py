"""The table of a ledger, made where it is missing."""

from typing import Final

from aiopravega.control import Controller
from aiopravega.errors import TableNotFoundError
from aiopravega.tables import KeyValueTable

# A ledger sees a few updates per job: one partition is plenty.
_PARTITIONS: Final = 1


async def make_missing(controller: Controller, table: KeyValueTable, scope: str, name: str, key_length: int) -> bool:
    """Make the table of a ledger; returns False if it exists already.

    It is read first: a controller needs 0.1 s to say that a table exists.

    Raises:
        ScopeNotFoundError: the scope does not exist.
    """
    try:
        await table.get(bytes(key_length))
    except TableNotFoundError:
        return await controller.create_table(scope, name, _PARTITIONS, key_length)
    return False

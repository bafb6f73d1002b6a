"""Sockets to segment stores: an asyncio connection with its pool, and a blocking one for bulk reads."""

from aiopravega.net.bulk import BulkConnection
from aiopravega.net.connection import Connection
from aiopravega.net.endpoint import Endpoint
from aiopravega.net.pool import ConnectionPool

__all__ = ["BulkConnection", "Connection", "ConnectionPool", "Endpoint"]

"""Sockets to segment stores, asyncio and blocking ones, and the credentials of requests to all servers."""

from aiopravega.net.authorization import Authorization, renewal_time
from aiopravega.net.bulk import BulkConnection
from aiopravega.net.connection import Connection
from aiopravega.net.endpoint import Endpoint
from aiopravega.net.pool import ConnectionPool

__all__ = ["Authorization", "BulkConnection", "Connection", "ConnectionPool", "Endpoint", "renewal_time"]

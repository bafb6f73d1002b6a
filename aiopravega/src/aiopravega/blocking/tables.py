"""The blocking form of key-value tables."""

from aiopravega import tables as aio
from aiopravega.blocking.bridge import Face, iterates, waits


class KeyValueTable(Face[aio.KeyValueTable]):
    """Access to one key-value table; made by `PravegaClient.table`."""

    get = waits(aio.KeyValueTable.get)
    get_all = waits(aio.KeyValueTable.get_all)
    put = waits(aio.KeyValueTable.put)
    put_if_absent = waits(aio.KeyValueTable.put_if_absent)
    replace = waits(aio.KeyValueTable.replace)
    replace_all = waits(aio.KeyValueTable.replace_all)
    remove = waits(aio.KeyValueTable.remove)
    remove_all = waits(aio.KeyValueTable.remove_all)
    entries = iterates(aio.KeyValueTable.entries)
    key_pages = iterates(aio.KeyValueTable.key_pages)

"""A cluster as a catalog: scopes are namespaces, streams are tables with a schema.

Works without the extra `schema`, as long as no Schema Registry is asked.
"""

from aiopravega.catalog.catalog import PravegaCatalog, StreamGroup, StreamTable
from aiopravega.catalog.columns import Column, columns_of

__all__ = ["Column", "PravegaCatalog", "StreamGroup", "StreamTable", "columns_of"]

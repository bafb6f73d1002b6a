"""Change events of Debezium in JSON as rows of a table: whole blocks of events to columns, by Arrow.

Nothing here knows streams, Spark or the registry. `decoder.ChangeDecoder` is the way in; `connect` reads the schemas
that events may carry, and `meanings` says which types follow from them.
"""

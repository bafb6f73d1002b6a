"""Change events of Debezium in JSON as rows of a table: whole blocks of events to columns, by Arrow.

Nothing here knows streams, Spark or the registry. `decoder.ChangeDecoder` decodes events; `connect` reads the schemas
that events may carry, and `meanings` gives the types of columns by them.
"""

"""Settings of a Debezium Server whose events all arrive, with a password that nobody may see."""

PASSWORD = "canary-of-a-source"
GOOD = """
debezium.sink.type=pravega
debezium.sink.pravega.scope={scope}
debezium.source.connector.class=io.debezium.connector.postgresql.PostgresConnector
debezium.source.database.password={password}
debezium.source.topic.prefix=inv
debezium.source.table.include.list=public.orders
debezium.source.tombstones.on.delete=false
debezium.source.skipped.operations=none
debezium.source.offset.flush.interval.ms={flush}
debezium.source.decimal.handling.mode=string
debezium.format.key.schemas.enable=false
"""

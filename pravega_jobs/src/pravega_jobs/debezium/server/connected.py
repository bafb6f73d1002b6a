"""Checks of a PostgreSQL that Debezium will read: settings and tables that lose or hide values, or stop Debezium."""

from collections.abc import Mapping
from typing import Any, Final

from pravega_jobs.debezium.server.database import (
    IDENTITIES,
    Server,
    Table,
    check_connector,
    check_measurable,
    check_server,
    check_table,
    chosen,
)
from pravega_jobs.debezium.server.settings import SettingFinding
from pravega_jobs.landing.postgres_sql import quoted, transaction

_USER: Final = "debezium.source.database.user"
_DECIMALS: Final = "debezium.source.decimal.handling.mode"
_SERVER: Final = """
select current_database(), current_setting('wal_level'),
  (select rolsuper or rolreplication or exists (
     select from pg_roles g where g.rolname = 'rds_replication' and pg_has_role(r.oid, g.oid, 'member'))
   from pg_roles r where rolname = coalesce(%s, current_user))
"""
# The columns without a limit of length that may be stored beside the row. An array has none, whatever its items have.
_LARGE: Final = """
  select a.attname::text from pg_attribute a join pg_type t on t.oid = a.atttypid
  where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attlen = -1
    and (a.attstorage in ('x', 'e') or t.typname = 'numeric')
    and (a.atttypmod = -1 or t.typcategory = 'A') and not exists (
      select from pg_index i where i.indrelid = c.oid and i.indisprimary and a.attnum = any(i.indkey))
"""
# Those whose value Debezium writes as null if it is not in the log: of arrays it has its placeholder for these only,
# and of numbers if they are texts.
_NULLED: Final = """
    and (t.typname = 'varbit' or t.typname = 'numeric' and not %s or t.typcategory = 'A' and t.typname not in
      ('_int4', '_int8', '_date', '_uuid', '_text', '_varchar', '_bytea', '_json', '_jsonb'))
"""
# Each table that a publication may have, with these columns.
_TABLES: Final = f"""
select n.nspname, c.relname, c.relreplident::text,
  exists (select from pg_index i where i.indrelid = c.oid and i.indisprimary),
  array({_LARGE} order by a.attnum), array({_LARGE} {_NULLED} order by a.attnum)
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p') and c.relpersistence = 'p' and not c.relispartition
  and n.nspname not in ('pg_catalog', 'information_schema') and n.nspname not like 'pg\\_%%'
order by 1, 2
"""


def check_database(dsn: str, settings: Mapping[str, str], *, measure_rows: bool = False) -> list[SettingFinding]:
    """All findings about a PostgreSQL that loses or hides values, or stops Debezium or the application.

    It inspects `wal_level`, the user of the settings, and each table that they name: its existence, its
    `REPLICA IDENTITY`, and the size of an event of its longest row, which must fit into Pravega.

    Args:
        dsn: the address of the database, for libpq. The user needs to see the tables' names; to measure rows, to read
            the tables.
        settings: the settings of Debezium Server, as `read_properties` gives them.
        measure_rows: True to measure the rows. It reads all tables whole.

    Raises:
        ConfigurationError: the settings are for another kind of database, or another database than the DSN, or cannot
            be parsed; or they change the events of a row, and rows were to be measured.
        LandingError: the database cannot be reached, or refuses.
    """
    check_connector(settings)
    if measure_rows:
        check_measurable(settings)
    with transaction(dsn) as cursor:
        cursor.execute("set transaction isolation level repeatable read, read only")
        cursor.execute(_SERVER, [settings.get(_USER)])
        findings = check_server(Server(*cursor.fetchone()), settings)
        cursor.execute(_TABLES, [settings.get(_DECIMALS, "").lower() == "string"])
        found = {f"{schema}.{name}": (schema, name, *more) for schema, name, *more in cursor.fetchall()}
        names, lonely = chosen(found, settings)
        findings += lonely
        for name in sorted(names):
            schema, own, identity, has_key, large, nulled = found[name]
            longest = _longest(cursor, schema, own) if measure_rows else None
            findings += check_table(Table(name, IDENTITIES[identity], has_key, tuple(large), longest, tuple(nulled)))
    return findings


def _longest(cursor: Any, schema: str, table: str) -> int:
    """Bytes of the longest row, as JSON."""
    cursor.execute(
        f"select coalesce(max(octet_length(row_to_json(t)::text)), 0) from {quoted(schema)}.{quoted(table)} t"
    )
    return int(cursor.fetchone()[0])

"""Notes of tables in PostgreSQL: the table `pravega_landings` beside them, by the oid of each table.

A table has one oid, however its name is spelled, and another one when it was dropped and made again. A dump that is
restored gives new oids to all tables, also to the table of notes: then the notes were restored with their tables, and
count by the tables' names. Notes of releases without oids also count by name, until the next landing writes the oids.
"""

from dataclasses import dataclass, field
from typing import Any, Final, cast

from aiopravega.errors import LandingError
from pravega_jobs.landing.postgres_sql import qualified, quoted, split_name
from pravega_jobs.landing.rules import OWN_COLUMNS, Holding, Landing, Standing, not_of_intervals

NOTES: Final = "pravega_landings"
_COLUMNS: Final = """
    table_name text not null, consumer text not null, interval_name text not null, holding text not null,
    table_oid oid, notes_oid oid, merge_rules text
"""
# Tables of notes of older releases lack these columns.
_TABLE_OID: Final = "(to_jsonb(notes) ->> 'table_oid')::oid"
_NOTES_OID: Final = "(to_jsonb(notes) ->> 'notes_oid')::oid"
_MERGE_RULES: Final = "to_jsonb(notes) ->> 'merge_rules'"


@dataclass(frozen=True, slots=True)
class Location:
    """A table in its database: schema, name and oid, and the oid of the notes beside it; None: it does not exist."""

    schema: str
    name: str
    oid: int | None
    notes_oid: int | None

    @property
    def table(self) -> str:
        """The table, as SQL has it."""
        return qualified(self.schema, self.name)

    @property
    def notes(self) -> str:
        """The table of notes, as SQL has it."""
        return qualified(self.schema, NOTES)

    @classmethod
    def found(cls, cursor: Any, table: str) -> "Location":
        """The location of a table.

        Args:
            cursor: in a transaction.
            table: the table's name, with or without its schema.

        Raises:
            LandingError: there is no schema to make it in, or its notes are in another schema.
        """
        given, name = split_name(table)
        cursor.execute(
            "select n.nspname, c.oid from pg_class c join pg_namespace n on n.oid = c.relnamespace "
            "where c.oid = to_regclass(%s)",
            (qualified(given, name),),
        )
        found = cursor.fetchone()
        if found is None:
            cursor.execute("select coalesce(%s, current_schema())", (given,))
            found = (cursor.fetchone()[0], None)
        schema, oid = found
        if schema is None:
            raise LandingError(
                f"the table {table} has no schema, and the search path has none: name it with its schema"
            )
        cursor.execute("select to_regclass(%s)::oid, to_regclass(%s)::oid", (qualified(schema, NOTES), NOTES))
        beside, on_path = cursor.fetchone()
        location = cls(schema, name, oid, beside)
        if on_path not in (None, beside):
            _check_elsewhere(cursor, location)
        return location

    def prepare_notes(self, cursor: Any) -> "Location":
        """Make the table of notes, or bring the one that is there up to date; returns the location with it.

        Args:
            cursor: in a transaction that holds the lock of all preparations.
        """
        if self.notes_oid is None:
            cursor.execute(f"create table {self.notes} ({_COLUMNS})")
            cursor.execute(f"create index on {self.notes} (table_oid, consumer, interval_name)")
        else:
            cursor.execute(
                "select attname from pg_attribute where attrelid = %s and attnum > 0 and not attisdropped",
                (self.notes_oid,),
            )
            names = {name for (name,) in cursor.fetchall()}
            if "table_oid" not in names:
                self._add_oids(cursor)
            if "merge_rules" not in names:
                cursor.execute(f"alter table {self.notes} add column merge_rules text")
        cursor.execute("select to_regclass(%s)::oid", (self.notes,))
        (oid,) = cursor.fetchone()
        # Notes that were written by name, or restored with their tables.
        cursor.execute(
            f"update {self.notes} set notes_oid = %s, table_oid = to_regclass(format('%%I.%%I', %s, table_name)) "
            "where notes_oid is distinct from %s",
            (oid, self.schema, oid),
        )
        cursor.execute(
            f"update {self.notes} notes set table_name = c.relname from pg_class c "
            "where c.oid = notes.table_oid and c.relname <> notes.table_name"
        )
        return Location(self.schema, self.name, self.oid, oid)

    def _add_oids(self, cursor: Any) -> None:
        """Bring the notes of a release without oids up to date: two tables that had one name may hold one interval."""
        cursor.execute(f"alter table {self.notes} add column table_oid oid, add column notes_oid oid")
        cursor.execute("select conname from pg_constraint where conrelid = %s and contype = 'p'", (self.notes_oid,))
        for (key,) in cursor.fetchall():
            cursor.execute(f"alter table {self.notes} drop constraint {quoted(key)}")
        cursor.execute(f"create index on {self.notes} (table_oid, consumer, interval_name)")


@dataclass(frozen=True, slots=True)
class PostgresStanding(Standing):
    """A table of PostgreSQL at one moment, in a transaction.

    Args:
        cursor: of the transaction.
        location: the location of the table.
    """

    cursor: Any
    location: Location
    _counting: set[Holding] = field(default_factory=set)

    def notes(self) -> list[Holding]:
        """All notes of the table, and of dropped ones of its name."""
        return self._notes("true", ())

    def note(self, landing: Landing) -> Holding | None:
        """The note of the interval of a landing: the table's, or that of a dropped one of its name."""
        names = landing.interval.consumer, landing.interval.name
        found = self._notes("(consumer, interval_name) = (%s, %s)", names)
        return next((each for each in found if self.counts(each)), found[0] if found else None)

    def counts(self, note: Holding) -> bool:
        """True if a note, which `notes` or `note` gave, is of the table that has its name now."""
        return note in self._counting

    def rows_of(self, landing: Landing) -> int:
        """The number of rows of the interval, counted in the table: by its index, if it has one.

        Raises:
            LandingError: changes are merged into the table.
        """
        if self.location.oid is None:
            return 0
        if self.merge_rules() is not None:
            raise not_of_intervals(landing)
        where = " and ".join(f"{name} = %s" for name in OWN_COLUMNS)
        names = landing.interval.consumer, landing.interval.name
        self.cursor.execute(f"select count(*) from {self.location.table} where {where}", names)
        return int(self.cursor.fetchone()[0])

    def merge_rules(self) -> str | None:
        """The rules by which changes are merged into the table, as a merge has stored them; None: none were."""
        if self.location.notes_oid is None or self.location.oid is None:
            return None
        self.cursor.execute(
            f"select {_MERGE_RULES} from {self.location.notes} notes where {_MERGE_RULES} is not null and "
            f"case when {_NOTES_OID} is distinct from %s then table_name = %s else {_TABLE_OID} = %s end limit 1",
            (self.location.notes_oid, self.location.name, self.location.oid),
        )
        found = self.cursor.fetchone()
        return None if found is None else str(found[0])

    def store(self, holding: Holding, merge_rules: str | None = None) -> None:
        """Store the note of an interval, instead of older notes, also of dropped tables of this name.

        `merge_rules`: the rules of the table, if changes were merged.
        """
        names = holding.consumer, holding.interval
        self.cursor.execute(
            f"delete from {self.location.notes} where (consumer, interval_name) = (%s, %s) and (table_oid = %s or "
            "table_name = %s)",
            (*names, self.location.oid, self.location.name),
        )
        self.cursor.execute(
            f"insert into {self.location.notes} (table_name, consumer, interval_name, holding, table_oid, notes_oid, "
            "merge_rules) values (%s, %s, %s, %s, %s, %s, %s)",
            (
                self.location.name,
                *names,
                holding.to_json().decode(),
                self.location.oid,
                self.location.notes_oid,
                merge_rules,
            ),
        )

    def _notes(self, where: str, arguments: tuple[str, ...]) -> list[Holding]:
        """Some notes of the table, and of dropped tables that had its name."""
        if self.location.notes_oid is None:
            return []
        self.cursor.execute(
            f"select holding, table_name, {_TABLE_OID}, {_NOTES_OID} from {self.location.notes} notes "
            f"where {where} and ({_TABLE_OID} = %s or table_name = %s) order by consumer, interval_name",
            (*arguments, self.location.oid, self.location.name),
        )
        found = []
        for text, name, *oids in cast("list[tuple[str, str, int | None, int | None]]", self.cursor.fetchall()):
            holding, (table_oid, notes_oid) = Holding.from_json(text.encode()), oids
            by_name = notes_oid != self.location.notes_oid
            if self.location.oid is not None and (
                name == self.location.name if by_name else table_oid == self.location.oid
            ):
                self._counting.add(holding)
            found.append(holding)
        return found


def _check_elsewhere(cursor: Any, location: Location) -> None:
    """Check that the notes on the search path, which older releases took, are not of this table.

    Raises:
        LandingError: they are.
    """
    cursor.execute(
        f"select (select relnamespace::regnamespace::text from pg_class where oid = to_regclass(%s)) "
        f"from {NOTES} notes where table_name = %s and coalesce({_TABLE_OID}, to_regclass(%s)::oid) = %s limit 1",
        (NOTES, location.name, quoted(location.name), location.oid),
    )
    found = cursor.fetchone()
    if found is not None:
        elsewhere = qualified(found[0], NOTES)
        raise LandingError(
            f"{location.table} has notes in {elsewhere}, and they belong beside it: move them, by create table "
            f"{location.notes} (like {elsewhere} including all), insert into {location.notes} table {elsewhere}, and a "
            "delete of those that are of other tables. Nothing was changed"
        )

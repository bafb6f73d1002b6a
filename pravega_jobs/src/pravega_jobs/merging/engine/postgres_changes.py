"""The statements by which PostgreSQL merges staged changes into a table, in a transaction that holds the table's lock.

They follow the rules that `rows` has for tables of files: what is newer, what a change leaves as it is, what is
counted, and what is refused.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from aiopravega.errors import LandingError
from pravega_jobs.debezium.changes.metadata import CHANGE_TYPE, UNCHANGED
from pravega_jobs.landing.postgres_copy import POSTGRES_TYPES
from pravega_jobs.landing.postgres_growth import spark_types
from pravega_jobs.landing.postgres_sql import quoted
from pravega_jobs.merging.engine.chunks import incomplete
from pravega_jobs.merging.engine.rows import not_sent, two_kinds, two_rows
from pravega_jobs.merging.merges import Counts, Merge
from pravega_jobs.merging.rules import DELETED_COLUMN, SEQUENCE_COLUMN, Unsent

_DELETES: Final = f"s.{quoted(CHANGE_TYPE)} = 'delete'"
_OLD: Final = f"t.{quoted(SEQUENCE_COLUMN)}"
_NEW: Final = f"s.{quoted(SEQUENCE_COLUMN)}"
_MARK: Final = quoted(DELETED_COLUMN)


@dataclass(frozen=True, slots=True)
class ChangesInDatabase:
    """Staged changes, one for each key, and the table that takes them.

    Args:
        cursor: in the transaction of the merge, which has locked the table.
        changes: the staged changes that count, as a query in brackets.
        table: the table, as SQL names it.
        types: the columns of the table, with the names that PostgreSQL has for their types.
        columns: the columns of the staging table.
        merge: the merge.
    """

    cursor: Any
    changes: str
    table: str
    types: Mapping[str, str]
    columns: Sequence[str]
    merge: Merge

    def apply(self) -> Counts:
        """Merge the changes.

        Raises:
            LandingError: the rows and the changes do not fit together; the message says why.
        """
        self._check_complete()
        counts = self._counted()
        self.cursor.execute(self._statement())
        if self.merge.snapshot is not None:
            counts.ghosts = self._remove_ghosts(self.merge.snapshot)
        return counts

    @property
    def _values(self) -> list[str]:
        """The columns of the table that the changes have, without the key and the position."""
        others = (*self.merge.rules.key, SEQUENCE_COLUMN, CHANGE_TYPE, UNCHANGED)
        return [name for name in self.columns if name not in others]

    @property
    def _same_key(self) -> str:
        return " and ".join(f"t.{quoted(name)} = s.{quoted(name)}" for name in self.merge.rules.key)

    @property
    def _newer(self) -> str:
        """A change is newer than its row, or at its position and says something else."""
        soft = self.merge.rules.keeps_deleted
        differs = [f"({_DELETES}{f' and not {self._gone}' if soft else ''})"]
        differs += [f"(not {_DELETES} and not {self._lacks(each)} and {self._differ(each)})" for each in self._values]
        if soft:
            differs.append(f"t.{_MARK} is distinct from ({_DELETES})")
        return f"({_OLD} is null or {_NEW} > {_OLD} or ({_NEW} = {_OLD} and ({' or '.join(differs)})))"

    @property
    def _gone(self) -> str:
        """The row is marked as deleted."""
        return f"coalesce(t.{_MARK}, false)" if self.merge.rules.keeps_deleted else "false"

    def _lacks(self, name: str) -> str:
        """The change lacks a value that the row has (TOAST)."""
        if UNCHANGED not in self.columns:
            return "false"
        text = self.cursor.mogrify("%s", (name,)).decode()
        return f"coalesce(s.{quoted(UNCHANGED)} ? {text}, false)"

    def _differ(self, name: str) -> str:
        known = spark_types({name: self.types[name]})[name]
        # Not all types that only PostgreSQL has can be compared, such as json.
        cast = "" if known in POSTGRES_TYPES or known.startswith("decimal(") else "::text"
        return f"t.{quoted(name)}{cast} is distinct from s.{quoted(name)}{cast}"

    def _check_complete(self) -> None:
        """Check that each change has a key, which no other change has, and a position."""
        needed = (*self.merge.rules.key, SEQUENCE_COLUMN)
        nulls = ", ".join(f"count(*) filter (where {quoted(name)} is null)" for name in needed)
        self.cursor.execute(f"select {nulls} from {self.changes} s")
        for name, count in zip(needed, self.cursor.fetchone(), strict=True):
            if count:
                raise incomplete(self.merge, count, name)
        # Texts that differ may be one value of the table's type: nobody has found the last of their changes.
        names = ", ".join(map(quoted, self.merge.rules.key))
        self.cursor.execute(f"select {names} from {self.changes} s group by {names} having count(*) > 1 limit 1")
        found = self.cursor.fetchone()
        if found is not None:
            raise LandingError(
                f"{self.merge}: the changes have several texts that PostgreSQL takes for one key "
                f"{dict(zip(self.merge.rules.key, found, strict=True))}: write keys in one way, such as uuids in lower "
                "case, before the merge. Nothing was changed"
            )

    def _counted(self) -> Counts:
        """Count what will happen to the changes, and check that it may."""
        known = f"t.{quoted(self.merge.rules.key[0])} is not null"
        newer, lacking = f"({known} and {self._newer})", [(name, self._lacks(name)) for name in self._values]
        lacking = [(name, text) for name, text in lacking if text != "false"]
        new = f"(not {known} and not {_DELETES})"
        counted = {
            "older": f"{known} and not {newer}",
            "deleted": f"{newer} and {_DELETES} and not {self._gone}",
            "absent": f"(not {known} or ({newer} and {self._gone})) and {_DELETES}",
            "inserted": f"(not {known} or ({newer} and {self._gone})) and not {_DELETES}",
            "updated": f"{newer} and not {_DELETES} and not {self._gone}",
        }
        asked = [
            f"{known} and octet_length({_OLD}) <> octet_length({_NEW})",
            *counted.values(),
            f"{new} and ({' or '.join(text for _, text in lacking) or 'false'})",
            *(f"{new} and {text}" for _, text in lacking),
        ]
        self.cursor.execute(
            f"select count(*), (select count(*) from {self.changes} s), "
            + ", ".join(f"count(*) filter (where {each})" for each in asked)
            + f" from {self.changes} s left join {self.table} t on {self._same_key}"
        )
        pairs, staged, unlike, *numbers = self.cursor.fetchone()
        if pairs > staged:
            raise two_rows(self._doubled(), self.merge)
        if unlike:
            raise two_kinds(str(self.merge))
        counts = Counts(**dict(zip(counted, numbers, strict=False)))
        unsent, *by_column = numbers[len(counted) :]
        if unsent and self.merge.rules.unsent is not Unsent.NULL:
            names = [name for (name, _), count in zip(lacking, by_column, strict=True) if count]
            raise not_sent(sorted(names), unsent, self.merge)
        return counts

    def _doubled(self) -> dict[str, Any]:
        """A key that the table has twice."""
        names = ", ".join(f"t.{quoted(name)}" for name in self.merge.rules.key)
        self.cursor.execute(
            f"select {names} from {self.changes} s join {self.table} t on {self._same_key} group by {names} "
            "having count(*) > 1 limit 1"
        )
        return dict(zip(self.merge.rules.key, self.cursor.fetchone(), strict=True))

    def _statement(self) -> str:
        soft = self.merge.rules.keeps_deleted
        at, names = quoted(SEQUENCE_COLUMN), {name: quoted(name) for name in self._values}
        sets = [
            f"{column} = case when {self._lacks(name)} then t.{column} else s.{column} end"
            if UNCHANGED in self.columns
            else f"{column} = s.{column}"
            for name, column in names.items()
        ]
        deleted = f"update set {at} = {_NEW}, {_MARK} = true" if soft else "delete"
        updated = ", ".join([*sets, f"{at} = {_NEW}", *([f"{_MARK} = false"] if soft else [])])
        columns = [*map(quoted, self.merge.rules.key), at, *names.values()]
        values = [f"s.{column}" for column in columns]
        if soft:
            columns, values = [*columns, _MARK], [*values, _DELETES]
        return (
            f"merge into {self.table} as t using {self.changes} as s on {self._same_key} "
            f"when matched and {self._newer} and {_DELETES} then {deleted} "
            f"when matched and {self._newer} then update set {updated} "
            f"when not matched {'' if soft else f'and not {_DELETES} '}"
            f"then insert ({', '.join(columns)}) values ({', '.join(values)})"
        )

    def _remove_ghosts(self, snapshot: bytes) -> int:
        """Remove rows that are older than a snapshot: the changes have replaced all rows that it has, or newer ones."""
        self.cursor.execute(
            f"select exists (select from {self.table} t where octet_length({_OLD}) <> %s)", (len(snapshot),)
        )
        if self.cursor.fetchone()[0]:
            raise two_kinds(str(self.merge))
        older = f"({_OLD} is null or {_OLD} < %s)"
        if self.merge.rules.keeps_deleted:
            text = f"update {self.table} t set {_MARK} = true where {older} and not {self._gone}"
        else:
            text = f"delete from {self.table} t where {older}"
        self.cursor.execute(text, (snapshot,))
        return int(self.cursor.rowcount)

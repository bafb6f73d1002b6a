"""Rules by which a table follows a stream, as users write them. No server is asked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, Self

from aiopravega.errors import ConfigurationError
from pravega_jobs.decoding.options import OnError
from pravega_jobs.landing import LandingTable
from pravega_jobs.landing.errors import check_errors
from pravega_jobs.landing.rules import Evolution, choice
from pravega_jobs.landing.targets import check_partitions
from pravega_jobs.merging.reading import change_options
from pravega_jobs.merging.rules import MergeRules
from pravega_jobs.merging.state import check_history
from pravega_jobs.spark.options import METADATA_COLUMNS_OPTION, METADATA_PREFIX_OPTION, with_columns
from pravega_jobs.upkeep.keep_up import upkeep_of
from pravega_jobs.upkeep.rules import UpkeepRules

_ON_ERROR: Final = "on_error"
_POINTER: Final = "event_pointer"


@dataclass(frozen=True, slots=True)
class KeepRules:
    """Rules by which a table follows a stream; `of` takes them as users write them.

    Args:
        options: of the read of a range.
        merge: the rules of merges; None: ranges are landed.
        new_columns: the treatment of columns that the table lacks, in landings.
        partition_by: the partitions of a table that is new.
        errors: the errors table or stream of landings, or its name as users write it; None: there is none.
        most_errors: the most errors of a landing.
        event_pointer: the column by which rows that do not fit the table become errors; None: they fail the landing.
        upkeep_after: the number of small files, and of versions, after which the table, or the errors table, is kept
            up; 0: never. None: as often as by default, if tables of the kind have an upkeep.
        upkeep: the settings of the upkeep.
    """

    options: Mapping[str, str]
    merge: MergeRules | None = None
    new_columns: Evolution = Evolution.FAIL
    partition_by: tuple[str, ...] = ()
    errors: LandingTable | str | None = None
    most_errors: int | str | None = None
    event_pointer: str | None = None
    upkeep_after: int | None = None
    upkeep: UpkeepRules = field(default_factory=UpkeepRules)

    @classmethod
    def of(
        cls,
        *,
        columns: str | None = None,
        options: Mapping[str, str] | None = None,
        new_columns: str = Evolution.FAIL,
        partition_by: Sequence[str] = (),
        errors: LandingTable | str | None = None,
        most_errors: int | str | None = None,
        key: Sequence[str] | str = (),
        deletes: str | None = None,
        unsent: str | None = None,
        ghosts: str | None = None,
        history: str | None = None,
        order_by: Sequence[str] | str | None = None,
        delete_column: str | None = None,
        upkeep_after: int | None = None,
        rows_are_events: bool = True,
    ) -> Self:
        """The rules that texts name.

        Args:
            columns: the columns of events that are decoded as JSON, or of the source's table, as SQL writes them.
            options: of the read, as `pravega_jobs.frames.read_arrow` has them.
            new_columns: `fail`, `ignore` or `add`.
            partition_by: as `land` and `merge_into` have it.
            errors: the errors table or stream for events that cannot be decoded, and for those whose row does not fit
                the table. The read has `on_error=dead` then, and the metadata column `event_pointer`, which the table
                does not get. If the options ask for this column, the table gets it, and such rows fail the landing.
            most_errors: as `land` has it.
            key: the columns that identify a row: the events are Debezium's changes, or with `order_by` plain rows, and
                are merged. Empty: all events are landed.
            deletes: as `merge_into` has it, with a key only; so are `unsent`, `ghosts`, `history`, `order_by` and
                `delete_column`.
            unsent: of a merge.
            ghosts: of a merge.
            history: of a merge.
            order_by: of a merge of plain rows; the options say how events become rows.
            delete_column: of a merge of plain rows.
            upkeep_after: the number of small files, and of versions, after which the table is kept up; 0: never.
            rows_are_events: False if a function makes rows of the events: those that do not fit fail the landing.

        Raises:
            ConfigurationError: a value cannot work, or does not go with the others.
        """
        if upkeep_after is not None and upkeep_after < 0:
            raise ConfigurationError(f"upkeep_after={upkeep_after}: give a number of small files, or 0 for no upkeep")
        rule, given = choice(new_columns, Evolution, "new_columns"), dict(options or {})
        check_errors(errors, most_errors)
        rules = MergeRules.if_keyed(
            key,
            new_columns,
            deletes=deletes,
            unsent=unsent,
            ghosts=ghosts,
            history=history,
            order_by=order_by,
            delete_column=delete_column,
        )
        if rules is None:
            pointer = None
            if errors is not None:
                given = _with_errors(given)
                given, pointer = _with_pointer(given) if rows_are_events else (given, None)
            read = with_columns(given, columns)
            return cls(read, None, rule, tuple(partition_by), errors, most_errors, pointer, upkeep_after)
        if errors is not None:
            raise ConfigurationError(f"errors is for landings, and with key={key!r} rows are merged: leave it out")
        plain = rules.order_by is not None
        read = with_columns(given, columns) if plain else {**given, **change_options(columns, given, rules)}
        return cls(read, rules, rule, tuple(partition_by), upkeep_after=upkeep_after)

    @property
    def kind(self) -> Literal["landing", "merge"]:
        """The kind of the sink of a claim."""
        return "landing" if self.merge is None else "merge"

    def check(self, table: LandingTable) -> None:
        """Check that a table of this kind can be kept by these rules. No server is asked.

        Raises:
            ConfigurationError: it cannot.
        """
        if self.merge is not None:
            check_history(table, self.merge)
        check_partitions(table, self.partition_by)
        if self.upkeep_after:
            upkeep_of(table)


def _with_errors(options: Mapping[str, str]) -> dict[str, str]:
    """Options by which events that cannot be decoded are rows with an error."""
    given = {name.lower(): text for name, text in options.items()}.get(_ON_ERROR, OnError.DEAD.value)
    if given != OnError.DEAD.value:
        raise ConfigurationError(
            f"errors is given, and the options say {_ON_ERROR}={given}: an errors table gets the events that cannot be "
            f"decoded, which needs {_ON_ERROR}={OnError.DEAD}. Leave one of the two out"
        )
    others = {name: text for name, text in options.items() if name.lower() != _ON_ERROR}
    return {**others, _ON_ERROR: OnError.DEAD.value}


def _with_pointer(options: Mapping[str, str]) -> tuple[dict[str, str], str | None]:
    """Options by which rows have the pointers of their events, and the column; None: the table gets this column."""
    given = {name.lower(): text for name, text in options.items()}
    asked = [name.strip().lower() for name in given.get(METADATA_COLUMNS_OPTION, "").split(",") if name.strip()]
    if _POINTER in asked:
        return dict(options), None
    others = {name: text for name, text in options.items() if name.lower() != METADATA_COLUMNS_OPTION}
    return (
        {**others, METADATA_COLUMNS_OPTION: ",".join((*asked, _POINTER))},
        given.get(METADATA_PREFIX_OPTION, "") + _POINTER,
    )

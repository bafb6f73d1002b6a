"""Findings of an engine: the differences by which a reader's schema does not fit data of a writer's schema.

An engine knows readers and writers; only the policy knows which of the two is the new schema. Therefore a finding has
two remedies: one for a reader that can still be changed, one for a writer that can.
"""

from dataclasses import dataclass
from typing import Final, Literal

Direction = Literal["backward", "forward"]

CANNOT_DECIDE: Final = "cannot-decide"
ABSENT: Final = "(absent)"


@dataclass(frozen=True, slots=True)
class ComparisonTerms:
    """The terms of a comparison of two schemas.

    `direction` says which schema is the new one: with "backward" it is the reader's. `declared_only` is for JSON: it
    assumes that writers write no properties that their schema does not declare, unless it has additionalProperties.
    `as_columns` is for Avro: types that columns cannot hold become findings (rules that begin with "column-").
    """

    direction: Direction = "backward"
    declared_only: bool = False
    as_columns: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """One reason why a reader cannot read all that a writer may write.

    `path` leads to a value in the data. `reader` and `writer` are the schemas' texts there. `change_reader` and
    `change_writer` are the remedies if that schema is not in use yet.
    """

    path: str
    rule: str
    reader: str
    writer: str
    change_reader: str
    change_writer: str


def undecided(path: str, reader: str, writer: str, why: str) -> Finding:
    """The finding that a construct is beyond what an engine can prove; it counts as a violation."""
    remedy = f"{why}: leave this part as it was, or compare the two by hand and use another policy once"
    return Finding(path, CANNOT_DECIDE, reader, writer, remedy, remedy)

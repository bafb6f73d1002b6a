"""Where our check of Avro and Java's `SchemaCompatibility` disagree on purpose: each with a rule and a reason."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from aiopravega.schema.policy import CompatibilityReport

YES, NO, NO_SCHEMA = "yes", "no", "no schema"


@dataclass(frozen=True)
class Disagreement:
    """A kind of pairs on which the two differ; `why` is in docs/explanation/schema-compatibility.md, too.

    `rule` decides by the rules of our violations and by what Java says.
    """

    what: str
    java: str
    ours: tuple[str, ...]
    why: str
    rule: Callable[[set[str], str], bool]


DISAGREEMENTS = (
    Disagreement(
        "a logical type became another one",
        java=YES,
        ours=(NO,),
        why="Java's check ignores logical types; readers get another value, or fail",
        rule=lambda rules, _: rules == {"logical-type-changed"},
    ),
    Disagreement(
        "an alias fits more than one field",
        java=YES,
        ours=(NO,),
        why="Java's check gives a written field to two; Java's reader gives it to the alias, others to the name",
        rule=lambda rules, _: (
            "alias-ambiguous" in rules and rules <= {"alias-ambiguous", "field-without-default", "logical-type-changed"}
        ),
    ),
    Disagreement(
        "an alias is its field's own name, or fits two fields in a branch of a union that is not read",
        java=NO,
        ours=(YES,),
        why="Java's check stops with an exception; the alias changes nothing in what is read",
        rule=lambda _, problem: "matches multiple fields in writer record schema" in problem,
    ),
    Disagreement(
        "a default of NaN or Infinity",
        java=NO_SCHEMA,
        ours=(YES, NO),
        why="Java refuses the text, which other libraries take: JSON has no other way to write the number",
        rule=lambda _, problem: re.search(r'Invalid default.*"(NaN|-?Infinity)"', problem) is not None,
    ),
    Disagreement(
        "a default of a union's second type, or a later one",
        java=NO_SCHEMA,
        ours=(YES, NO),
        why="the specification allows it since Avro 1.12; readers with older libraries refuse the schema, not the data",
        rule=lambda _, problem: re.search(r"Invalid default.* not a .*\[", problem) is not None,
    ),
)


def explanation(report: CompatibilityReport, verdict: dict[str, Any]) -> str | None:
    """Which disagreement of the list it is; None for agreement.

    Raises:
        LookupError: it is on no list.
    """
    java = NO_SCHEMA if "refused" in verdict else YES if verdict["compatible"] else NO
    ours = YES if report.compatible else NO
    if java == ours:
        return None
    rules = {violation.rule for violation in report.violations}
    for each in DISAGREEMENTS:
        if each.java == java and ours in each.ours and each.rule(rules, verdict["problem"]):
            return each.what
    raise LookupError(f"Java says {java}: {verdict['problem']}; ours: {[(v.path, v.rule) for v in report.violations]}")

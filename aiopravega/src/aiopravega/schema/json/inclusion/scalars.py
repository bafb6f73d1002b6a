"""Keywords for types, numbers and texts: values of a writer's case that a reader's keywords do not admit."""

import math
from fractions import Fraction
from typing import Any, Final

from aiopravega.schema.json.document import Node
from aiopravega.schema.json.inclusion.cases import Bound, Case, bounds_of, exact, type_set
from aiopravega.schema.json.inclusion.patterns import includes
from aiopravega.schema.json.inclusion.wording import narrowed
from aiopravega.schema.policy.findings import Finding, undecided

_NUMBERS: Final = frozenset({"integer", "fraction"})


def types(reader: Node, case: Case, path: str) -> list[Finding]:
    """The keyword `type`."""
    value = reader.keywords["type"]
    return [] if case.types <= type_set(value) else [narrowed(path, "type", value, case)]


def numbers(reader: Node, case: Case, path: str) -> list[Finding]:
    """The ends of the range, and multipleOf."""
    kinds = case.types & _NUMBERS
    if not kinds:
        return []
    whole = kinds == {"integer"}
    findings = []
    for keyword, exclusive, way in (("minimum", "exclusiveMinimum", 1), ("maximum", "exclusiveMaximum", -1)):
        given = case.lowest() if way > 0 else case.highest()
        for bound in bounds_of(reader, keyword, exclusive):
            if not _is_within(_towards(given, way, whole), _towards(bound, way, whole)):
                named = exclusive if bound.excluded and exclusive in reader.keywords else keyword
                findings.append(narrowed(path, named, reader.keywords[named], case, keyword, exclusive))
    step = reader.keywords.get("multipleOf")
    if step is not None and not _is_multiple(exact(step), case, whole):
        findings.append(narrowed(path, "multipleOf", step, case))
    return findings


def _towards(bound: Bound | None, way: int, whole: bool) -> Bound | None:
    """A bound as a lower one: an upper bound is negated. For whole numbers the bound is included."""
    if bound is None:
        return None
    value = bound.value * way
    if whole:
        return Bound(Fraction(math.floor(value) + 1 if bound.excluded else math.ceil(value)), excluded=False)
    return Bound(value, bound.excluded)


def _is_within(given: Bound | None, asked: Bound | None) -> bool:
    if given is None or asked is None:
        return asked is None
    return (given.value, given.excluded) >= (asked.value, asked.excluded)


def _is_multiple(step: Fraction, case: Case, whole: bool) -> bool:
    steps = [exact(value) for value in case.values("multipleOf")]
    return any((each / step).denominator == 1 for each in steps + ([Fraction(1)] if whole else []))


def texts(reader: Node, case: Case, path: str) -> list[Finding]:
    """Lengths, patterns and formats."""
    if "string" not in case.types:
        return []
    findings = sizes(reader, case, path, ("minLength", "maxLength"), (case.least("minLength"), case.most("maxLength")))
    asked = reader.keywords.get("pattern")
    if asked is not None:
        findings += _pattern(asked, case, path)
    asked = reader.keywords.get("format")
    # A dialect may treat formats as remarks; readers that check them refuse texts that other programs wrote.
    if asked is not None and asked not in case.values("format"):
        findings.append(narrowed(path, "format", asked, case))
    return findings


def _pattern(asked: str, case: Case, path: str) -> list[Finding]:
    given = case.values("pattern")
    answers = [includes(asked, pattern) for pattern in given]
    if any(answers):
        return []
    finding = narrowed(path, "pattern", asked, case)
    if None in answers or len(given) > 1:
        return [undecided(path, finding.reader, finding.writer, "it is not known if one pattern includes the other")]
    return [finding]


def sizes(reader: Node, case: Case, path: str, keywords: tuple[str, str], given: tuple[float, float]) -> list[Finding]:
    """A least and a greatest number of letters, items or properties."""
    findings = []
    least: Any = reader.keywords.get(keywords[0])
    most: Any = reader.keywords.get(keywords[1])
    if least is not None and given[0] < least:
        findings.append(narrowed(path, keywords[0], least, case))
    if most is not None and given[1] > most:
        findings.append(narrowed(path, keywords[1], most, case))
    return findings

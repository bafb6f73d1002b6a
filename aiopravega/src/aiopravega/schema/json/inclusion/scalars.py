"""Keywords for types, numbers and texts: values of a writer's case that a reader's keywords do not admit."""

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

from aiopravega.schema.json.document import SchemaNode
from aiopravega.schema.json.inclusion.automata import Automaton, automaton_of
from aiopravega.schema.json.inclusion.cases import Bound, Case, bounds_of, exact, type_set
from aiopravega.schema.json.inclusion.wording import narrowed
from aiopravega.schema.policy import Finding, undecided

_NUMBERS: Final = frozenset({"integer", "fraction"})
_MOST_PAIRS: Final = 5_000


def types(reader: SchemaNode, case: Case, path: str) -> list[Finding]:
    """The keyword `type`."""
    value = reader.keywords["type"]
    return [] if case.types <= type_set(value) else [narrowed(path, "type", value, case)]


def numbers(reader: SchemaNode, case: Case, path: str) -> list[Finding]:
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


def texts(reader: SchemaNode, case: Case, path: str) -> list[Finding]:
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


def sizes(
    reader: SchemaNode, case: Case, path: str, keywords: tuple[str, str], given: tuple[float, float]
) -> list[Finding]:
    """A least and a greatest number of letters, items or properties."""
    findings = []
    least: Any = reader.keywords.get(keywords[0])
    most: Any = reader.keywords.get(keywords[1])
    if least is not None and given[0] < least:
        findings.append(narrowed(path, keywords[0], least, case))
    if most is not None and given[1] > most:
        findings.append(narrowed(path, keywords[1], most, case))
    return findings


@lru_cache(maxsize=1024)
def includes(wider: str, narrower: str) -> bool | None:
    """True if all texts that match one pattern match the other; None if that is not known.

    All texts are followed at once in two automata: one state of the narrower beside all states of the wider that the
    same text leads to. It is not known after many pairs: there can be as many as sets of states.
    """
    if wider == narrower:
        return True
    one, other = automaton_of(wider), automaton_of(narrower)
    if one is None or other is None:
        return None
    letters = _letters((one, other))
    waiting = [(state, one.reach([one.start])) for state in other.reach([other.start])]
    seen = set(waiting)
    while waiting:
        state, states = waiting.pop()
        if state == other.end and one.end not in states:
            return False
        for letter in letters:
            reached = other.after(frozenset({state}), letter)
            if not reached:
                continue
            beside = one.after(states, letter)
            new = {(each, beside) for each in reached} - seen
            seen |= new
            waiting += new
            if len(seen) > _MOST_PAIRS:
                return None
    return True


def _letters(automata: Iterable[Automaton]) -> list[int]:
    """One letter of each kind: no automaton distinguishes letters between two ends of its ranges."""
    ends = {0}
    for automaton in automata:
        for steps in automaton.steps:
            for ranges, _ in steps:
                ends.update(end for low, high in ranges for end in (low, high + 1))
    return sorted(end for end in ends if end <= ord("\U0010ffff"))

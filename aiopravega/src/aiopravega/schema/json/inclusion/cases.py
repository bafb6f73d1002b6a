"""Cases: types, bounds, properties and items of values that fit several schemas at once.

A writer's schema becomes cases; every value that it admits fits at least one of them. Each case is a list of schemas
without choices. A keyword that cases ignore (an `if`, a `contains`) makes a case admit more, never less: a reader that
admits the case admits all of the writer's values.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any, Final

from aiopravega.schema.json.document import Node

# A number is whole or a fraction: so "integer" is a part of "number", as each type is a part of several types.
_TYPES: Final = {"number": ("integer", "fraction")}
ALL_TYPES: Final = frozenset({"null", "boolean", "integer", "fraction", "string", "array", "object"})
_MOST_CASES: Final = 256


class TooManyCasesError(Exception):
    """A schema has more combinations of choices than are compared; never raised outside of this package."""


@dataclass(frozen=True, slots=True)
class Bound:
    """An end of a range of numbers."""

    value: Fraction
    excluded: bool


@dataclass(frozen=True, slots=True)
class Case:
    """Schemas that a value fits (`nodes`), and schemas that it does not fit (`negatives`)."""

    nodes: tuple[Node, ...]
    negatives: tuple[Node, ...] = ()

    def values(self, keyword: str) -> list[Any]:
        """The values of a keyword in the schemas."""
        return [node.keywords[keyword] for node in self.nodes if keyword in node.keywords]

    @property
    def types(self) -> frozenset[str]:
        """The types that a value can have."""
        found = ALL_TYPES
        for value in self.values("type"):
            found &= type_set(value)
        return found

    def lowest(self) -> Bound | None:
        """The lower end of the numbers."""
        bounds = [bound for node in self.nodes for bound in bounds_of(node, "minimum", "exclusiveMinimum")]
        return max(bounds, key=lambda bound: (bound.value, bound.excluded), default=None)

    def highest(self) -> Bound | None:
        """The upper end of the numbers."""
        bounds = [bound for node in self.nodes for bound in bounds_of(node, "maximum", "exclusiveMaximum")]
        return min(bounds, key=lambda bound: (bound.value, not bound.excluded), default=None)

    def least(self, keyword: str) -> int:
        """The largest value of a keyword such as minLength."""
        return max((int(value) for value in self.values(keyword)), default=0)

    def most(self, keyword: str) -> float:
        """The smallest value of a keyword such as maxLength."""
        return min((float(value) for value in self.values(keyword)), default=math.inf)

    def finite(self) -> list[Any] | None:
        """All values, if they are listed; None if they are not.

        Raises:
            Unresolvable: a reference leads out of the document.
        """
        listed = [[value] for value in self.values("const")] + self.values("enum")
        if listed:
            candidates = min(listed, key=len)
        elif self.types <= {"null", "boolean"}:
            candidates = [None, True, False]
        else:
            return None
        return [
            value
            for value in candidates
            if not any(node.errors(value) for node in self.nodes) and all(node.errors(value) for node in self.negatives)
        ]

    def is_empty(self) -> bool:
        """True if certainly no value fits; False if that is not certain."""
        if not self.types or any(node.schema is False for node in self.nodes):
            return True
        if self.types <= {"integer", "fraction"}:
            low, high = self.lowest(), self.highest()
            return bool(low and high and low.value > high.value)
        return self.types == {"string"} and self.least("minLength") > self.most("maxLength")


def type_set(value: Any) -> frozenset[str]:
    """The types that the keyword `type` names."""
    names = [value] if isinstance(value, str) else value
    return frozenset(kind for name in names for kind in _TYPES.get(name, (name,)))


def bounds_of(node: Node, keyword: str, exclusive: str) -> Iterator[Bound]:
    """An end of the range that one schema gives; draft 4 says with true that the end is excluded."""
    keywords = node.keywords
    excluded = keywords.get(exclusive)
    if keyword in keywords:
        yield Bound(exact(keywords[keyword]), excluded is True)
    if excluded is not None and not isinstance(excluded, bool):
        yield Bound(exact(excluded), excluded=True)


def exact(number: Any) -> Fraction:
    """A number of JSON as it is written there: 0.1 is a tenth."""
    return Fraction(str(number))


def cases_of(nodes: Sequence[Node]) -> list[Case]:
    """The cases of schemas that hold together; cases without values are left out.

    Raises:
        TooManyCasesError: there are more than are compared.
    """
    found = [case for case in _product([_of_node(node, frozenset()) for node in nodes]) if not case.is_empty()]
    if len(found) > _MOST_CASES:
        raise TooManyCasesError
    return found


def _of_node(node: Node, followed: frozenset[int]) -> list[Case]:
    keywords = node.keywords
    parts = [[Case((node,), _negatives(node))]]
    reference = keywords.get("$ref")
    if isinstance(reference, str) and id(node.schema) not in followed:
        target = node.target(reference)
        if target is not None:
            parts.append(_of_node(target, followed | {id(node.schema)}))
    parts += [_of_node(node.at(part), followed) for part in keywords.get("allOf", ())]
    if "anyOf" in keywords:
        parts.append([case for part in keywords["anyOf"] for case in _of_node(node.at(part), followed)])
    if "oneOf" in keywords:
        parts.append(_one_of(node, followed))
    return _product(parts)


def _one_of(node: Node, followed: frozenset[int]) -> list[Case]:
    branches = [node.at(part) for part in node.keywords["oneOf"]]
    return [
        Case(case.nodes, case.negatives + tuple(other for other in branches if other is not branch))
        for branch in branches
        for case in _of_node(branch, followed)
    ]


def _negatives(node: Node) -> tuple[Node, ...]:
    return (node.at(node.keywords["not"]),) if "not" in node.keywords else ()


def _product(parts: Sequence[list[Case]]) -> list[Case]:
    if math.prod(len(part) for part in parts) > _MOST_CASES:
        raise TooManyCasesError
    return [
        Case(
            tuple(node for case in chosen for node in case.nodes),
            tuple(node for case in chosen for node in case.negatives),
        )
        for chosen in product(*parts)
    ]

"""Keywords for arrays: items by index, the rest, sizes, `contains`."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from aiopravega.schema.json.document import SchemaNode
from aiopravega.schema.json.inclusion.cases import Case, cases_of
from aiopravega.schema.json.inclusion.scalars import sizes
from aiopravega.schema.json.inclusion.wording import narrowed, nothing_admitted
from aiopravega.schema.policy import Finding

Covers = Callable[[SchemaNode, tuple[SchemaNode, ...], str], list[Finding]]


def arrays(reader: SchemaNode, case: Case, path: str, covers: Covers) -> list[Finding]:
    """The findings of a reader's keywords for arrays: values of a case that they refuse."""
    if "array" not in case.types:
        return []
    longest = _longest(case)
    findings = sizes(reader, case, path, ("minItems", "maxItems"), (case.least("minItems"), longest))
    findings += _positions(reader, case, path, longest, covers)
    if reader.keywords.get("uniqueItems") and longest > 1 and not any(case.values("uniqueItems")):
        findings.append(narrowed(path, "uniqueItems", True, case))
    if "contains" in reader.keywords:
        findings += _contains(reader, case, path, covers)
    return findings


def _split(node: SchemaNode) -> tuple[Sequence[Any], Any]:
    """The schemas of the first items, and the schema of the rest; None if there is none."""
    keywords = node.keywords
    items = keywords.get("items")
    if isinstance(items, list):  # before 2020-12
        return items, keywords.get("additionalItems")
    return keywords.get("prefixItems", ()), items


def _item(case: Case, at: int) -> tuple[SchemaNode, ...]:
    """The schemas of the item at an index."""
    nodes = []
    for node in case.nodes:
        first, rest = _split(node)
        if at < len(first):
            nodes.append(node.at(first[at]))
        elif rest is not None:
            nodes.append(node.at(rest))
    return tuple(nodes)


def _longest(case: Case) -> float:
    closed = [float(len(first)) for first, rest in map(_split, case.nodes) if rest is False]
    return min([case.most("maxItems"), *closed])


def _positions(reader: SchemaNode, case: Case, path: str, longest: float, covers: Covers) -> list[Finding]:
    first, rest = _split(reader)
    known = max([len(first), *(len(_split(node)[0]) for node in case.nodes)])
    keyword = "items" if reader.keywords.get("items") is False else "additionalItems"
    findings = []
    for at in range(int(min(known, longest))):
        schema = first[at] if at < len(first) else rest
        if schema is False:
            findings += [nothing_admitted(f"{path}[{at}]", keyword, each) for each in cases_of(_item(case, at))]
        elif schema is not None:
            findings += covers(reader.at(schema), _item(case, at), f"{path}[{at}]")
    if rest is False and longest > known:
        findings.append(narrowed(path, keyword, False, case))
    elif rest is not None and longest > known:
        findings += covers(reader.at(rest), _item(case, known), f"{path}[*]")
    return findings


def _contains(reader: SchemaNode, case: Case, path: str, covers: Covers) -> list[Finding]:
    keywords = reader.keywords
    wanted, least = reader.at(keywords["contains"]), keywords.get("minContains", 1)
    most = keywords.get("maxContains", math.inf)
    # All items after the ones that the writer declares one by one have the same schemas.
    known = max(len(_split(node)[0]) for node in case.nodes)
    lower = not least or (case.least("minItems") - known >= least and not covers(wanted, _item(case, known), path))
    upper = most == math.inf
    for node in case.nodes:
        if "contains" in node.keywords:
            given = node.at(node.keywords["contains"])
            implied = not covers(wanted, (given,), path)
            lower |= node.keywords.get("minContains", 1) >= least and implied
            upper |= node.keywords.get("maxContains", math.inf) <= most and not covers(given, (wanted,), path)
    return [] if lower and upper else [narrowed(path, "contains", keywords["contains"], case)]

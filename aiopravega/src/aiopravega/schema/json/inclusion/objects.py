"""Keywords for objects: properties by name, by pattern and all others, required properties, numbers of properties."""

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

from aiopravega.schema.json.document import SchemaNode
from aiopravega.schema.json.inclusion.cases import Case, TooManyCasesError
from aiopravega.schema.json.inclusion.scalars import sizes
from aiopravega.schema.json.inclusion.wording import (
    ANYTHING,
    OPTIONAL,
    case_says,
    narrowed,
    rule_of,
    said,
    shown,
)
from aiopravega.schema.policy import ABSENT, Finding

Covers = Callable[[SchemaNode, tuple[SchemaNode, ...], str], list[Finding]]
_MOST_OPTIONS = 64


@dataclass(frozen=True, slots=True)
class Objects:
    """The objects of a case. With `declared_only`, they have no properties that no schema declares."""

    case: Case
    declared_only: bool

    @property
    def names(self) -> list[str]:
        """The properties that are named, in order."""
        return list(dict.fromkeys(name for group in self.case.values("properties") for name in group))

    @property
    def required(self) -> list[str]:
        """The properties that are always there; draft 4 knows no empty list, draft 3 none at all."""
        names = dict.fromkeys(name for group in self.case.values("required") for name in group)
        waiting = list(names)
        while waiting:  # a property that is always there requires its dependents
            name = waiting.pop()
            for group in self.case.values("dependentRequired"):
                new = [each for each in group.get(name, ()) if each not in names]
                names |= dict.fromkeys(new)
                waiting += new
        return list(names)

    @property
    def is_closed(self) -> bool:
        """True if only named properties are allowed."""
        if self._is_taken_as_closed():
            return True
        return any(
            node.keywords.get("additionalProperties") is False and not node.keywords.get("patternProperties")
            for node in self.case.nodes
        )

    def schemas(self, name: str) -> tuple[SchemaNode, ...]:
        """The schemas of a property; one of them is false if there is no such property."""
        nodes = []
        declared = False
        for node in self.case.nodes:
            here = [*_named(node, name), *_matching(node, name)]
            declared = declared or bool(here)
            if not here and "additionalProperties" in node.keywords:
                here = [node.at(node.keywords["additionalProperties"])]
            nodes += here
        if not declared and self._is_taken_as_closed():
            nodes.append(self.case.nodes[0].at(False))
        return tuple(nodes)

    def others(self, pattern: str | None = None) -> list[tuple[SchemaNode, ...]]:
        """The schemas that a property without a declared name may have, each a possibility.

        With `pattern`, for properties that match it; without, for properties that match any pattern or none.
        """
        if self._is_taken_as_closed() and not any(self.case.values("patternProperties")):
            return []
        options = [list(_others(node, pattern)) for node in self.case.nodes]
        if math.prod(len(option) for option in options) > _MOST_OPTIONS:
            raise TooManyCasesError
        return [tuple(node for node in chosen if node is not None) for chosen in product(*options)]

    def _is_taken_as_closed(self) -> bool:
        return (
            self.declared_only and bool(self.case.values("properties")) and not self.case.values("additionalProperties")
        )


def _named(node: SchemaNode, name: str) -> Iterator[SchemaNode]:
    properties = node.keywords.get("properties", {})
    if name in properties:
        yield node.at(properties[name])


def _matching(node: SchemaNode, name: str) -> Iterator[SchemaNode]:
    for pattern, schema in node.keywords.get("patternProperties", {}).items():
        if matches(pattern, name):
            yield node.at(schema)


def _others(node: SchemaNode, pattern: str | None) -> Iterator[SchemaNode | None]:
    patterns = node.keywords.get("patternProperties", {})
    if pattern in patterns:
        yield node.at(patterns[pattern])
        return
    for schema in patterns.values():
        yield node.at(schema)
    additional = node.keywords.get("additionalProperties")
    yield None if additional is None else node.at(additional)


def matches(pattern: str, name: str) -> bool:
    """True if a pattern matches somewhere in a name.

    Raises:
        TooManyCasesError: Python does not know this pattern, so the names that it matches are not known.
    """
    try:
        return re.search(pattern, name) is not None
    except re.error:
        raise TooManyCasesError from None


def objects(reader: SchemaNode, case: Case, path: str, covers: Covers, *, declared_only: bool) -> list[Finding]:
    """The findings of a reader's keywords for objects: values of a case that they refuse."""
    if "object" not in case.types:
        return []
    written = Objects(case, declared_only)
    return [
        *_declared(reader, written, path, covers),
        *_by_pattern(reader, written, path, covers),
        *_additional(reader, written, path, covers),
        *_required(reader, written, path),
        *_counts(reader, written, path),
        *_names(reader, written, path, covers),
        *_dependent(reader, written, path),
    ]


def _declared(reader: SchemaNode, written: Objects, path: str, covers: Covers) -> list[Finding]:
    all_findings = []
    for name, schema in reader.keywords.get("properties", {}).items():
        given, at = written.schemas(name), f"{path}.{name}"
        findings = covers(reader.at(schema), given, at)
        if findings and not given:
            ours = shown(schema)
            change_reader = f"leave {name} untyped: the old schema admits any value there. If writers write declared "
            change_reader += "properties only, say so (declared_only)"
            change_writer = f"keep {name} as it was: readers with the old schema refuse other values"
            findings = [Finding(at, rule_of("properties"), ours, ANYTHING, change_reader, change_writer)]
        all_findings += findings
    return all_findings


def _by_pattern(reader: SchemaNode, written: Objects, path: str, covers: Covers) -> list[Finding]:
    findings = []
    for pattern, schema in reader.keywords.get("patternProperties", {}).items():
        for name in filter(lambda name: matches(pattern, name), written.names):
            findings += covers(reader.at(schema), written.schemas(name), f"{path}.{name}")
        for option in written.others(pattern):
            findings += covers(reader.at(schema), option, f"{path}./{pattern}/")
    return findings


def _additional(reader: SchemaNode, written: Objects, path: str, covers: Covers) -> list[Finding]:
    keyword = "additionalProperties"
    if keyword not in reader.keywords:
        return []
    value = reader.keywords[keyword]
    patterns = reader.keywords.get("patternProperties", {})
    declared = reader.keywords.get("properties", {})
    all_findings = []
    for name in written.names:
        if name in declared or any(matches(pattern, name) for pattern in patterns):
            continue
        findings = covers(reader.at(value), written.schemas(name), f"{path}.{name}")
        if findings and value is False:
            theirs = ", ".join(shown(node.schema) for node in written.schemas(name))
            ours, no_more = said(keyword, value), f"do not write {name}: the old schema refuses it"
            findings = [Finding(f"{path}.{name}", rule_of(keyword), ours, theirs, f"declare {name} as it was", no_more)]
        all_findings += findings
    # This keyword does not apply to names that match a pattern of both.
    options = [
        option
        for option in written.others()
        if not any(node.schema is schema for node in option for schema in _shared(written.case, patterns))
    ]
    for option in options:
        findings = covers(reader.at(value), option, f"{path}.*")
        if findings and value is False:
            findings = [narrowed(path, keyword, value, written.case, "patternProperties")]
        all_findings += findings
    return all_findings


def _shared(case: Case, patterns: dict[str, object]) -> list[object]:
    return [schema for group in case.values("patternProperties") for name, schema in group.items() if name in patterns]


def _required(reader: SchemaNode, written: Objects, path: str) -> list[Finding]:
    always = written.required
    return [
        Finding(
            f"{path}.{name}",
            rule_of("required"),
            said("required", [name]),
            OPTIONAL,
            f"make {name} optional",
            f"keep {name} required: readers with the old schema refuse events without it",
        )
        for name in reader.keywords.get("required", ())
        if name not in always
    ]


def _counts(reader: SchemaNode, written: Objects, path: str) -> list[Finding]:
    least = max(written.case.least("minProperties"), len(written.required))
    most = min(written.case.most("maxProperties"), len(written.names) if written.is_closed else math.inf)
    return sizes(reader, written.case, path, ("minProperties", "maxProperties"), (least, most))


def _names(reader: SchemaNode, written: Objects, path: str, covers: Covers) -> list[Finding]:
    if "propertyNames" not in reader.keywords:
        return []
    asked = reader.at(reader.keywords["propertyNames"])
    if written.is_closed and not any(asked.errors(name) for name in written.names):
        return []
    first = written.case.nodes[0]
    given = tuple(
        node.at(node.keywords["propertyNames"]) for node in written.case.nodes if "propertyNames" in node.keywords
    )
    if not covers(asked, (first.at({"type": "string"}), *given), path):
        return []
    return [narrowed(path, "propertyNames", reader.keywords["propertyNames"], written.case)]


def _dependent(reader: SchemaNode, written: Objects, path: str) -> list[Finding]:
    findings = []
    for keyword in ("dependentRequired", "dependencies"):
        for name, needed in reader.keywords.get(keyword, {}).items():
            if not isinstance(needed, list) or any(node.schema is False for node in written.schemas(name)):
                continue
            given = set(written.required)
            for group in (*written.case.values(keyword), *written.case.values("dependentRequired")):
                given.update(each for each in group.get(name, ()) if isinstance(group.get(name), list))
            missing = [each for each in needed if each not in given]
            if missing:
                theirs = case_says(written.case, keyword)
                findings.append(
                    Finding(
                        f"{path}.{name}",
                        rule_of(keyword),
                        said(keyword, {name: needed}),
                        theirs if theirs != ABSENT else case_says(written.case, "required"),
                        f"ask for no {', '.join(missing)} beside {name}",
                        f"keep {', '.join(missing)} wherever {name} is",
                    )
                )
    return findings

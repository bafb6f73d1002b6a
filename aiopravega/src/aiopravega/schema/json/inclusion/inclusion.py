"""The proof that a reader's schema admits all that a writer's does: case by case, keyword by keyword."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from referencing.exceptions import Unresolvable

from aiopravega.schema.json.document import SchemaNode, same
from aiopravega.schema.json.inclusion import choices, scalars
from aiopravega.schema.json.inclusion.arrays import arrays
from aiopravega.schema.json.inclusion.cases import Case, TooManyCasesError, cases_of
from aiopravega.schema.json.inclusion.objects import objects
from aiopravega.schema.json.inclusion.wording import (
    ANYTHING,
    narrowed,
    nothing_admitted,
    rule_of,
    said,
    shown,
)
from aiopravega.schema.policy import ComparisonTerms, Finding, undecided

_MOST_STEPS: Final = 50_000  # comparisons of one schema with one case; a proof of more is given up
_BEYOND: Final = ("$dynamicRef", "$recursiveRef", "unevaluatedItems", "unevaluatedProperties")


def compare(reader: SchemaNode, writer: SchemaNode, terms: ComparisonTerms) -> list[Finding]:
    """The findings of a comparison: values of the writer's schema that the reader's refuses; empty if none."""
    if not (reader.document.known and writer.document.known):
        if shown(reader.schema) == shown(writer.schema):
            return []
        return [
            undecided("$", shown(reader.schema), shown(writer.schema), "this dialect of JSON Schema is not known here")
        ]
    try:
        findings = _Proof(terms.declared_only).covers(reader, (writer,), "$")
    except (TooManyCasesError, RecursionError):
        return [undecided("$", shown(reader.schema), shown(writer.schema), "these have too many combinations")]
    return list(dict.fromkeys(findings))


@dataclass(frozen=True, slots=True)
class _Known:
    """The findings of a case at a path. It holds the schemas, so that no other objects get their ids."""

    path: str
    findings: list[Finding]
    schemas: tuple[object, ...]

    def at(self, path: str) -> list[Finding]:
        """The first finding at another path, for differences that are reported already."""
        return [replace(finding, path=path + finding.path.removeprefix(self.path)) for finding in self.findings[:1]]


class _Proof:
    def __init__(self, declared_only: bool) -> None:
        self._declared_only = declared_only
        # A proof may use the statement that is being proved: values are finite, and it holds for their parts.
        self._open: set[tuple[int, ...]] = set()
        self._known: dict[tuple[int, ...], _Known] = {}
        self._steps = 0

    def covers(self, reader: SchemaNode, writer: tuple[SchemaNode, ...], path: str) -> list[Finding]:
        """The findings for values that fit all of the writer's schemas."""
        cases = cases_of(writer or (reader.at(True),))  # without a schema, any value is admitted
        return [finding for case in cases for finding in self.case(reader, case, path)]

    def case(self, reader: SchemaNode, case: Case, path: str) -> list[Finding]:
        """The findings for one case."""
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise TooManyCasesError
        if any(same(reader, node) for node in case.nodes):
            return []
        nodes = (reader, *case.nodes, *case.negatives)
        key = (len(case.nodes), *(id(node.schema) for node in nodes))
        if key in self._open:
            return []
        if key in self._known:
            return self._known[key].at(path)
        before = len(self._known)
        self._open.add(key)
        try:
            values = case.finite()
            findings = self._keywords(reader, case, path) if values is None else _listed(reader, case, path, values)
        except Unresolvable as error:
            findings = [_unresolvable(reader, case, path, str(error))]
        finally:
            self._open.discard(key)
        if findings:  # later proofs may rest on this statement, which is false
            for at, known in list(self._known.items())[before:]:
                if not known.findings:
                    del self._known[at]
        self._known[key] = _Known(path, findings, tuple(node.schema for node in nodes))
        return findings

    def _keywords(self, reader: SchemaNode, case: Case, path: str) -> list[Finding]:
        keywords = reader.keywords
        if reader.schema is False:
            return [nothing_admitted(path, "schema", case)]
        findings: list[Finding] = []
        if "type" in keywords:
            findings += scalars.types(reader, case, path)
        findings += scalars.numbers(reader, case, path)
        findings += scalars.texts(reader, case, path)
        findings += arrays(reader, case, path, self.covers)
        findings += objects(reader, case, path, self.covers, declared_only=self._declared_only)
        for keyword in ("enum", "const"):
            if keyword in keywords:
                findings.append(narrowed(path, keyword, keywords[keyword], case, "type"))
        return findings + self._choices(reader, case, path) + _beyond(reader, path)

    def _choices(self, reader: SchemaNode, case: Case, path: str) -> list[Finding]:
        keywords = reader.keywords
        findings = [finding for part in keywords.get("allOf", ()) for finding in self.case(reader.at(part), case, path)]
        rules: Mapping[str, Callable[[], list[Finding]]] = {
            "anyOf": lambda: choices.any_of(reader, case, path, self.case),
            "oneOf": lambda: choices.one_of(reader, case, path, self.case),
            "not": lambda: choices.negation(reader, case, path),
            "if": lambda: choices.condition(reader, case, path, self.case),
            "$ref": lambda: self._reference(reader, case, path),
        }
        for keyword, rule in rules.items():
            if keyword in keywords:
                findings += rule()
        return findings + choices.dependent_schemas(reader, case, path, self.case)

    def _reference(self, reader: SchemaNode, case: Case, path: str) -> list[Finding]:
        target = reader.target(reader.keywords["$ref"])
        if target is None:
            return [_unresolvable(reader, case, path, reader.keywords["$ref"])]
        return self.case(target, case, path)


def _beyond(reader: SchemaNode, path: str) -> list[Finding]:
    keywords = reader.keywords
    return [
        undecided(
            path, said(keyword, keywords[keyword]), ANYTHING, f"the values that {keyword} admits are not compared"
        )
        for keyword in _BEYOND
        if keywords.get(keyword, True) is not True
    ]


def _listed(reader: SchemaNode, case: Case, path: str, values: list[object]) -> list[Finding]:
    """The findings for a list of values: the reader's schema validates each of them."""
    refused: dict[tuple[str, str, str], list[str]] = {}
    for value in values:
        for error in reader.errors(value)[:1]:
            at = path + error.json_path[1:]
            text = said(error.validator, error.validator_value) if error.validator else "false"
            refused.setdefault((at, rule_of(error.validator or "not"), text), []).append(shown(value))
    findings = []
    for (at, rule, ours), which in refused.items():
        listed = case.values("enum") or case.values("const")
        theirs = ", ".join(said("enum" if isinstance(each, list) else "const", each) for each in listed)
        names = ", ".join(which)
        findings.append(Finding(at, rule, ours, theirs or names, f"admit {names}", f"do not write {names}"))
    return findings


def _unresolvable(reader: SchemaNode, case: Case, path: str, reference: str) -> Finding:
    texts = shown(reader.schema), ", ".join(shown(node.schema) for node in case.nodes)
    return undecided(path, *texts, f"a reference leads out of the schema ({reference})")

"""Keywords that choose: anyOf, oneOf, not, if, dependent schemas; and the test that two schemas exclude each other."""

from collections.abc import Callable, Sequence

from referencing.exceptions import Unresolvable

from aiopravega.schema.json.document import SchemaNode, same
from aiopravega.schema.json.inclusion.cases import Case, cases_of
from aiopravega.schema.json.inclusion.objects import Objects
from aiopravega.schema.json.inclusion.wording import case_says, narrowed, said
from aiopravega.schema.policy import Finding, undecided

CoversCase = Callable[[SchemaNode, Case, str], list[Finding]]
_DEEPEST = 3  # properties inside properties that are compared to prove two objects exclusive
_SPLIT = ("null", "boolean", "number", "string", "array", "object")


def says_the_same(reader: SchemaNode, case: Case, *keywords: str) -> bool:
    """True if a schema of a case has these keywords with the reader's values."""
    wanted = reader.at({key: reader.keywords[key] for key in keywords if key in reader.keywords})
    return any(
        same(wanted, node.at({key: node.keywords[key] for key in keywords if key in node.keywords}))
        for node in case.nodes
    )


def any_of(reader: SchemaNode, case: Case, path: str, covers: CoversCase) -> list[Finding]:
    """One of the reader's branches must admit the case; a case of several types may need one branch for each type."""
    value = reader.keywords["anyOf"]
    branches = [reader.at(branch) for branch in value]
    return _one_admits(branches, case, path, covers, lambda part: narrowed(path, "anyOf", value, part))


def _one_admits(
    branches: Sequence[SchemaNode], case: Case, path: str, covers: CoversCase, finding_of: Callable[[Case], Finding]
) -> list[Finding]:
    refusals = [covers(branch, case, path) for branch in branches]
    if not all(refusals):
        return []
    parts = _by_type(case)
    if len(parts) > 1:
        return [finding for part in parts for finding in _one_admits(branches, part, path, covers, finding_of)]
    # If only one branch is possible, its findings are more precise than the finding that all refuse.
    meant = [findings for branch, findings in zip(branches, refusals, strict=True) if not excludes(branch, case)]
    return meant[0] if len(meant) == 1 else [finding_of(case)]


def _by_type(case: Case) -> list[Case]:
    parts = [Case((*case.nodes, case.nodes[0].at({"type": kind})), case.negatives) for kind in _SPLIT]
    return [part for part in parts if part.types]


def one_of(reader: SchemaNode, case: Case, path: str, covers: CoversCase) -> list[Finding]:
    """One of the reader's branches must admit the case, and all others exclude it."""
    if says_the_same(reader, case, "oneOf"):
        return []
    value = reader.keywords["oneOf"]
    branches = [reader.at(branch) for branch in value]
    findings = _one_admits(branches, case, path, covers, lambda part: narrowed(path, "oneOf", value, part))
    if findings:
        return findings
    # In a case of several types each type may have another branch.
    for part in _by_type(case):
        doubtful = [branch for branch in branches if not excludes(branch, part)]
        if len(doubtful) > 1:
            texts = said("oneOf", value), case_says(part, "oneOf")
            return [undecided(path, *texts, "it is not known if a value can fit two branches of oneOf")]
    return []


def negation(reader: SchemaNode, case: Case, path: str) -> list[Finding]:
    """The keyword `not`."""
    if excludes(reader.at(reader.keywords["not"]), case):
        return []
    return [narrowed(path, "not", reader.keywords["not"], case)]


def condition(reader: SchemaNode, case: Case, path: str, covers: CoversCase) -> list[Finding]:
    """The keywords `if`, `then` and `else`."""
    if says_the_same(reader, case, "if", "then", "else"):
        return []
    test = reader.at(reader.keywords["if"])
    ways = []
    if "then" in reader.keywords and not excludes(test, case):
        ways.append("then")
    if "else" in reader.keywords and covers(test, case, path):
        ways.append("else")
    if not any(covers(reader.at(reader.keywords[way]), case, path) for way in ways):
        return []
    text = ", ".join(said(key, reader.keywords[key]) for key in ("if", "then", "else") if key in reader.keywords)
    return [
        undecided(
            path, text, case_says(case, "if", "then", "else"), "the values that a condition admits are not compared"
        )
    ]


def dependent_schemas(reader: SchemaNode, case: Case, path: str, covers: CoversCase) -> list[Finding]:
    """Schemas that hold if a property is there."""
    findings = []
    for keyword in ("dependentSchemas", "dependencies"):
        schemas = {
            name: schema for name, schema in reader.keywords.get(keyword, {}).items() if not isinstance(schema, list)
        }
        if not schemas or "object" not in case.types or says_the_same(reader, case, keyword):
            continue
        for name, schema in schemas.items():
            absent = any(node.schema is False for node in Objects(case, declared_only=False).schemas(name))
            if not absent and covers(reader.at(schema), case, path):
                texts = said(keyword, {name: schema}), case_says(case, keyword)
                findings.append(
                    undecided(f"{path}.{name}", *texts, "schemas that depend on a property are not compared")
                )
    return findings


def excludes(node: SchemaNode, case: Case, depth: int = 0) -> bool:
    """True if certainly no value of a case fits a schema."""
    if any(same(node, negative) for negative in case.negatives):
        return True
    both = [Case(case.nodes + other.nodes, case.negatives + other.negatives) for other in cases_of([node])]
    return all(_is_empty(each, depth) for each in both)


def _is_empty(case: Case, depth: int) -> bool:
    try:
        if case.is_empty() or case.finite() == []:
            return True
    except Unresolvable:
        return False
    if case.types != {"object"} or depth == _DEEPEST:
        return False
    written = Objects(case, declared_only=False)
    return any(
        all(_is_empty(each, depth + 1) for each in cases_of(written.schemas(name)))
        for name in written.required
        if written.schemas(name)
    )

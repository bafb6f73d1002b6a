"""Reports of differences between two JSON Schemas: texts of keywords, names of rules, remedies."""

import json
import re
from typing import Any, Final

from aiopravega.schema.json.inclusion.cases import Case
from aiopravega.schema.policy import ABSENT, Finding

ANYTHING: Final = "(any value)"
OPTIONAL: Final = "(optional)"
_HUMP: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")


def said(keyword: str, value: Any) -> str:
    """A keyword and its value, as in a schema."""
    return f"{keyword}: {json.dumps(value, ensure_ascii=False)}"


def shown(value: Any) -> str:
    """A schema or a value as a text of JSON."""
    return json.dumps(value, ensure_ascii=False)


def case_says(case: Case, *keywords: str) -> str:
    """Some keywords of a case, as a text; `ABSENT` if it has none of them."""
    texts = [said(keyword, value) for keyword in keywords for value in case.values(keyword)]
    return ", ".join(dict.fromkeys(texts)) or ABSENT


def rule_of(keyword: str) -> str:
    """The name of the rule that a keyword of the reader breaks: maxLength is `max-length-narrowed`."""
    return f"{_HUMP.sub('-', keyword).lower()}-narrowed"


def nothing_admitted(path: str, keyword: str, case: Case) -> Finding:
    """The finding that a reader's schema is false where the writer admits values."""
    theirs = ", ".join(shown(node.schema) for node in case.nodes) or ANYTHING
    return Finding(
        path, rule_of(keyword), said(keyword, False), theirs, "admit what was admitted", "write nothing here"
    )


def narrowed(path: str, keyword: str, reader: Any, case: Case, *also: str) -> Finding:
    """The finding that a keyword of the reader admits less than the writer does."""
    ours, theirs = said(keyword, reader), case_says(case, keyword, *also)
    change_reader = f"take {keyword} out" if theirs == ABSENT else f"admit what was admitted: {theirs}"
    change_writer = f"keep to {ours}: readers with the old schema refuse the rest"
    return Finding(path, rule_of(keyword), ours, theirs, change_reader, change_writer)

"""The result of a replay as a page of HTML: one file, which loads nothing and runs nothing."""

import json
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, Final

_COUNTS: Final = ("before", "now", "added", "removed", "changed", "repeated_keys")
_STYLE: Final = """
:root { color-scheme: light dark; --line: light-dark(#d8dee8, #3a4354); --quiet: light-dark(#5b677c, #a3adbf); }
body { font: 14px/1.45 system-ui, sans-serif; max-width: 75rem; margin: 0 auto; padding: 1.25rem 1.5rem 3rem; }
h1 { font-size: 1.35rem; } h2 { font-size: 1.05rem; margin: 2rem 0 .5rem; } p { color: var(--quiet); }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .4rem .7rem; border-bottom: 1px solid var(--line); vertical-align: top; }
td { overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
.same { color: light-dark(#15803d, #4ade80); } .different { color: light-dark(#b91c1c, #f87171); }
"""


def page_of(result: Mapping[str, Any]) -> str:
    """The page; every text of the result is escaped.

    Args:
        result: as `ReplayResult.to_json` gives it.
    """
    facts = [
        ("code", result["code"]),
        ("stream", result["stream"]),
        ("consumer", result["consumer"]),
        ("compared with", result["output"]),
        ("key", ", ".join(result["key"]) or "whole rows"),
    ]
    intervals = [
        [each["interval"], each["written_as"], each["generation"], *(f"{each[count]:,}" for count in _COUNTS)]
        for each in result["intervals"]
    ]
    kinds = [[each["column"], each["before"] or "none", each["now"] or "none"] for each in result["schema"]]
    samples = [
        [column["column"], *(_json(sample[name]) for name in ("key", "before", "now"))]
        for column in result["columns"]
        for sample in column["samples"]
    ]
    scratch = [[each["interval"], *each["scratch"].values()] for each in result["intervals"] if each["scratch"]]
    header = ("interval", "written as", "generation", *(name.replace("_", " ") for name in _COUNTS))
    parts = [
        _table("", ("replay", ""), facts),
        _table("Intervals", header, intervals),
        _table("Columns with other kinds of values", ("column", "then", "now"), kinds),
        _table(
            "Columns with other values",
            ("column", "rows"),
            [[each["column"], f"{each['changed']:,}"] for each in result["columns"]],
        ),
        _table("Changed rows", ("column", "key", "then", "now"), samples),
        _table("Added rows", ("row",), [[_json(row)] for row in result["added"]]),
        _table("Removed rows", ("row",), [[_json(row)] for row in result["removed"]]),
        _table("The rows of now", ("interval", "stream", "write id"), scratch),
    ]
    verdict = "same" if result["same"] else "different"
    title = f"Replay of {escape(result['code'])}"
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>\n'
        f"<style>{_STYLE}</style>\n</head>\n<body>\n"
        f'<h1>{title}: <span class="{verdict}">{verdict}</span></h1>\n{"".join(parts)}'
        "<p>Of each difference, the first rows are shown.</p>\n</body>\n</html>\n"
    )


def _table(title: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table with its title; nothing, if it has no rows."""
    lines = ["".join(f"<td>{escape(str(cell))}</td>" for cell in row) for row in rows]
    if not lines:
        return ""
    heading = f"<h2>{escape(title)}</h2>\n" if title else ""
    names = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "\n".join(f"<tr>{line}</tr>" for line in lines)
    return f"{heading}<table>\n<thead><tr>{names}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>\n"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)

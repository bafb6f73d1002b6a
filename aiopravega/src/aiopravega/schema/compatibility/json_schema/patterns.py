"""Regular expressions of JSON Schema: whether one matches everything that another matches.

Decided by the automata of `greenery` for what they know: no look-around, no back-references, no anchors but at the
ends. A pattern of JSON Schema may match anywhere in a text; an automaton matches all of it.
"""

import re
from functools import lru_cache
from typing import Any, Final

import greenery  # type: ignore[import-untyped]  # it brings no types

_LONGEST: Final = 200  # characters; automata of longer ones can take minutes
_MOST_REPEATS: Final = 64  # as many states, each
_BEYOND: Final = re.compile(r"\(\?(?!:)|\\[bBAZzkpP1-9ux]|[*+?}][+?]")
_REPEAT: Final = re.compile(r"\{(\d*),?(\d*)\}")
_PARTS: Final = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]|.", re.DOTALL)
_ANYTHING: Final = "(.|\n)*"
_NO_NEWLINE: Final = "[^\n\r]"


def includes(wider: str, narrower: str) -> bool | None:
    """Whether all texts that match one pattern match the other; None if that cannot be told."""
    if wider == narrower:
        return True
    one, other = _automaton(wider), _automaton(narrower)
    if one is None or other is None:
        return None
    return bool(other.difference(one).empty())


@lru_cache(maxsize=256)
def _automaton(pattern: str) -> Any:
    repeats = [int(count) for pair in _REPEAT.findall(pattern) for count in pair if count]
    if len(pattern) > _LONGEST or _BEYOND.search(pattern) or sum(repeats) > _MOST_REPEATS:
        return None
    whole = _whole(pattern)
    if whole is None:
        return None
    try:
        return greenery.parse(whole).to_fsm()
    # What it cannot parse it refuses in several ways, some of them not on purpose.
    except Exception:  # noqa: BLE001 - whatever it is, the pattern is beyond it
        return None


def _whole(pattern: str) -> str | None:
    """The same pattern for a matcher of whole texts; None if an anchor stands elsewhere than at an end."""
    parts = _PARTS.findall(pattern)
    starts, ends = parts[:1] == ["^"], parts[-1:] == ["$"]
    inner = parts[starts : len(parts) - ends]
    if "^" in inner or "$" in inner or ((starts or ends) and _has_choice(inner)):
        return None
    body = "".join(_NO_NEWLINE if part == "." else part for part in inner)
    return f"{'' if starts else _ANYTHING}({body}){'' if ends else _ANYTHING}"


def _has_choice(parts: list[str]) -> bool:
    """Whether there is an | outside of all parentheses: an anchor then belongs to one choice only."""
    depth = 0
    for part in parts:
        depth += (part == "(") - (part == ")")
        if part == "|" and not depth:
            return True
    return False

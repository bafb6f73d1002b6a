"""Regular expressions as automata. JSON Schema has JavaScript's; the part that is regular in the strict sense is here.

Look-around, back-references and anchors inside a pattern are not regular: for a pattern with one, the result is None.
Automata are not deterministic: their time and space grow with the pattern only.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

Ranges = tuple[tuple[int, int], ...]
"""Code points, as ranges that include both ends."""

_LAST: Final = 0x10FFFF
ANY: Final[Ranges] = ((0, _LAST),)
_CLASSES: Final[dict[str, Ranges]] = {
    "d": ((0x30, 0x39),),
    "w": ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)),
    "s": tuple(
        (low, high)
        for low, high in zip(
            (0x09, 0x20, 0xA0, 0x1680, 0x2000, 0x2028, 0x202F, 0x205F, 0x3000, 0xFEFF),
            (0x0D, 0x20, 0xA0, 0x1680, 0x200A, 0x2029, 0x202F, 0x205F, 0x3000, 0xFEFF),
            strict=True,
        )
    ),
}
_LINE_ENDS: Final[Ranges] = ((0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029))
_CONTROLS: Final = {"n": 0x0A, "r": 0x0D, "t": 0x09, "f": 0x0C, "v": 0x0B, "0": 0}
_HEX: Final = re.compile(r"x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})")
_COUNT: Final = re.compile(r"\{(\d+)(,?)(\d*)\}")
_MOST_STATES: Final = 2_000  # a repetition is as many copies


class _NotRegularError(Exception):
    """The pattern is not regular, or is too large."""


@dataclass(slots=True)
class Automaton:
    """States are numbers; `start` and `end` are two of them."""

    steps: list[list[tuple[Ranges, int]]] = field(default_factory=list)
    free: list[list[int]] = field(default_factory=list)
    start: int = 0
    end: int = 0

    def state(self) -> int:
        """A new state."""
        if len(self.steps) >= _MOST_STATES:
            raise _NotRegularError
        self.steps.append([])
        self.free.append([])
        return len(self.steps) - 1

    def reach(self, states: Sequence[int]) -> frozenset[int]:
        """These states, and all states that are reached from them without a letter."""
        found, waiting = set(states), list(states)
        while waiting:
            for state in self.free[waiting.pop()]:
                if state not in found:
                    found.add(state)
                    waiting.append(state)
        return frozenset(found)

    def after(self, states: frozenset[int], letter: int) -> frozenset[int]:
        """The states that one letter leads to."""
        return self.reach(
            [
                target
                for state in states
                for ranges, target in self.steps[state]
                if any(low <= letter <= high for low, high in ranges)
            ]
        )


def automaton_of(pattern: str) -> Automaton | None:
    """The automaton of all texts in which a pattern matches somewhere; None if the pattern has no automaton."""
    try:
        return _Parser(pattern).whole()
    except _NotRegularError:
        return None


class _Parser:
    """Reads a pattern from left to right; parts of it become a first and a last state."""

    def __init__(self, pattern: str) -> None:
        self._text, self._at = pattern, 0
        self._made = Automaton()
        self._choices_at_top = False

    def whole(self) -> Automaton:
        made = self._made
        starts = self._take("^")
        first, last = self._choice()
        ends = self._take("$")
        # With choices at the top an anchor would belong to one of them only.
        if self._at < len(self._text) or ((starts or ends) and self._choices_at_top):
            raise _NotRegularError
        made.start, made.end = first, last
        for anchored, state in ((starts, first), (ends, last)):
            if not anchored:
                made.steps[state].append((ANY, state))
        return made

    def _choice(self, depth: int = 0) -> tuple[int, int]:
        first, last = self._made.state(), self._made.state()
        while True:
            start, end = self._sequence(depth)
            self._made.free[first].append(start)
            self._made.free[end].append(last)
            if not self._take("|"):
                return first, last
            self._choices_at_top |= not depth

    def _sequence(self, depth: int) -> tuple[int, int]:
        first = last = self._made.state()
        while self._at < len(self._text) and self._text[self._at] not in "|)$":
            begin = self._at
            start, end = self._atom(depth)
            start, end = self._repeated(begin, start, end, depth)
            self._made.free[last].append(start)
            last = end
        return first, last

    def _repeated(self, begin: int, start: int, end: int, depth: int) -> tuple[int, int]:
        counts = self._counts()
        if counts is None:
            return start, end
        least, most = counts
        after = self._at
        first = last = self._made.state()
        for number in range(max(least, 1 if most is None else most)):
            if number:  # another copy: the same part of the text once more
                self._at = begin
                start, end = self._atom(depth)
            self._made.free[last].append(start)
            if number >= least:
                # Either all further copies are there, or none of them.
                self._made.free[start].append(end)
            last = end
        if most is None:
            self._made.free[end].append(start)
        if most is None and not least:
            self._made.free[first].append(last)
        self._at = after
        return first, self._onward(last)

    def _onward(self, state: int) -> int:
        """A new state after a state, so that the following states cannot enter a loop back into it."""
        made = self._made.state()
        self._made.free[state].append(made)
        return made

    def _counts(self) -> tuple[int, int | None] | None:
        found = _COUNT.match(self._text, self._at)
        signs: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
        if found:
            self._at = found.end()
            least = int(found[1])
            counts = (least, int(found[3]) if found[3] else None if found[2] else least)
        elif self._at < len(self._text) and self._text[self._at] in signs:
            counts = signs[self._text[self._at]]
            self._at += 1
        else:
            return None
        self._take("?")  # a lazy repetition matches the same texts
        return counts

    def _atom(self, depth: int) -> tuple[int, int]:
        letter = self._next()
        if letter == "(":
            if self._take("?") and not self._take(":"):
                raise _NotRegularError
            found = self._choice(depth + 1)
            if not self._take(")"):
                raise _NotRegularError
            # A repeated group may loop: its last state may be entered only through the group.
            return found[0], self._onward(found[1])
        if letter == "[":
            return self._letters(self._set())
        if letter == ".":
            return self._letters(_without(_LINE_ENDS))
        if letter == "\\":
            return self._letters(self._escape())
        if letter in "^*+?{":
            raise _NotRegularError
        return self._letters(((ord(letter), ord(letter)),))

    def _letters(self, ranges: Ranges) -> tuple[int, int]:
        first, last = self._made.state(), self._made.state()
        self._made.steps[first].append((ranges, last))
        return first, last

    def _escape(self) -> Ranges:
        coded = _HEX.match(self._text, self._at)
        if coded:
            self._at = coded.end()
            code = int(coded[1] or coded[2], 16)
            return ((code, code),)
        letter = self._next()
        if letter.lower() in _CLASSES:
            found = _CLASSES[letter.lower()]
            return found if letter.islower() else _without(found)
        if letter in _CONTROLS:
            return ((_CONTROLS[letter], _CONTROLS[letter]),)
        if letter.isalnum():
            raise _NotRegularError
        return ((ord(letter), ord(letter)),)

    def _set(self) -> Ranges:
        negated = self._take("^")
        found: list[tuple[int, int]] = []
        while not self._take("]"):
            low = self._member()
            if self._text[self._at : self._at + 1] == "-" and self._text[self._at + 1 : self._at + 2] not in ("]", ""):
                self._at += 1
                high = self._member()
                if len(low) > 1 or len(high) > 1 or low[0][0] > high[0][1]:
                    raise _NotRegularError
                found.append((low[0][0], high[0][1]))
            else:
                found += low
        return _without(tuple(found)) if negated else tuple(found)

    def _member(self) -> Ranges:
        letter = self._next()
        if letter == "\\":
            if self._take("b"):
                return ((0x08, 0x08),)
            return self._escape()
        return ((ord(letter), ord(letter)),)

    def _next(self) -> str:
        if self._at >= len(self._text):
            raise _NotRegularError
        self._at += 1
        return self._text[self._at - 1]

    def _take(self, letter: str) -> bool:
        found = self._text.startswith(letter, self._at)
        self._at += found
        return found


def _without(ranges: Ranges) -> Ranges:
    """All other code points."""
    found, at = [], 0
    for low, high in sorted(ranges):
        if low > at:
            found.append((at, low - 1))
        at = max(at, high + 1)
    return (*found, (at, _LAST)) if at <= _LAST else tuple(found)

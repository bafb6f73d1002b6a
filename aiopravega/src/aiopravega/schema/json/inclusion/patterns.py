"""Regular expressions of JSON Schema: a test that one matches in every text in which another matches.

All texts are followed at once in two automata: one state of the narrower beside all states of the wider that the same
text leads to. The test gives up after many pairs: there can be as many as sets of states.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from aiopravega.schema.json.inclusion.automata import Automaton, automaton_of

_MOST_PAIRS: Final = 5_000


@lru_cache(maxsize=1024)
def includes(wider: str, narrower: str) -> bool | None:
    """True if all texts that match one pattern match the other; None if that is not known."""
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

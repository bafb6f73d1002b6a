"""Patterns: automata match what Python's expressions match, and include what they should."""

import re
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aiopravega.schema.json.inclusion.automata import automaton_of
from aiopravega.schema.json.inclusion.scalars import includes

TEXTS = ["".join(letters) for length in range(5) for letters in product("ab1", repeat=length)] + ["\n", "a\nb", "a-b"]
PARTS = st.recursive(
    st.sampled_from(["a", "b", "[ab]", "[^a]", "[a-z1]", ".", r"\d", r"\w", r"\x61"]),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"({pair[0]}|{pair[1]})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "*?", "{2}", "{0,2}", "{1,}", "{0}"])).map(
            lambda pair: f"(?:{pair[0]}){pair[1]}"
        ),
    ),
    max_leaves=5,
)
PATTERNS = st.tuples(st.sampled_from(["", "^"]), PARTS, st.sampled_from(["", "$"])).map("".join)


def found(pattern: str) -> set[str]:
    """The texts in which Python finds a pattern; to JavaScript, $ is the very end."""
    return {text for text in TEXTS if re.search(re.sub(r"\$$", r"\\Z", pattern), text)}


@settings(max_examples=100, deadline=None)
@given(PATTERNS)
def test_an_automaton_matches_what_the_pattern_matches(pattern):
    made = automaton_of(pattern)
    assert made is not None
    matched = set()
    for text in TEXTS:
        states = made.reach([made.start])
        for letter in text:
            states = made.after(states, ord(letter))
        if made.end in states:
            matched.add(text)
    assert matched == found(pattern)


@settings(max_examples=100, deadline=None)
@given(PATTERNS, PATTERNS)
def test_a_pattern_that_includes_another_is_found_wherever_that_is(wider, narrower):
    if includes(wider, narrower):
        assert found(narrower) <= found(wider)


@pytest.mark.parametrize(
    ("wider", "narrower", "expected"),
    [
        ("^[a-z]{1,63}$", "^[a-z]{1,20}$", True),
        ("^[a-z]{1,20}$", "^[a-z]{1,63}$", False),
        ("^[^@]+@[^@]+$", r"^\w+@\w+\.[a-z]+$", True),
        ("a", "^.*a", True),
        (r"^\S+$", r"^\w+$", True),
        (r"^\D$", r"^\d$", False),
        ("^a|b$", "^a$", None),
        ("^(?=a)", "^a", None),
        (r"^\bword$", "^word$", None),
        (r"^(.)\1$", "^aa$", None),
        ("^a{1,5000}$", "^a$", None),
    ],
)
def test_one_pattern_includes_another_or_does_not_or_it_is_not_known(wider, narrower, expected):
    assert includes(wider, narrower) is expected

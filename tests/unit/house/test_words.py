"""`tools/check_words.py`: limits of patterns in docstrings and comments of product code."""

import pytest
from tests.unit.house.checkout import PRODUCT, Checkout


def limit(checkout: Checkout, number: int, pattern: str, only: str = "all") -> None:
    """Allow one pattern so many times, and no other ones at all."""
    checkout.write("tools/patterns.txt", f"# limits\n{number}\t{only}\t{pattern}\tname the thing\n")


def limit_of(checkout: Checkout) -> int:
    return int((checkout.folder / "tools" / "patterns.txt").read_text().splitlines()[1].split("\t")[0])


def test_one_more_than_a_pattern_allows_fails_and_is_named(checkout: Checkout) -> None:
    checkout.write(PRODUCT, '"""The names, those of\nstreams."""\n\n# Cuts, and those of it.\n')

    limit(checkout, 2, r"\bthose of\b")
    assert checkout.check("words")[0]
    limit(checkout, 1, r"\bthose of\b")
    passed, said = checkout.check("words")

    assert not passed
    assert r"\bthose of\b: 2 times, at most 1 are allowed: name the thing" in said
    assert f"{PRODUCT}:1: …The names, those of streams.…" in said
    assert f"{PRODUCT}:4: …Cuts, and those of it.…" in said


def test_a_pattern_of_docstrings_passes_comments(checkout: Checkout) -> None:
    checkout.write(PRODUCT, '"""Names."""\n\n# What it is.\n\n\ndef of():\n    """Where it is: what it has."""\n')
    limit(checkout, 0, "^(?:What|Where)\\b", "docstrings")

    passed, said = checkout.check("words")

    assert not passed
    assert "1 times" in said


def test_patterns_are_for_docstrings_and_comments_of_product_code_only(checkout: Checkout) -> None:
    limit(checkout, 0, r"\bthose of\b")
    checkout.write("page.md", "The names, those of streams.\n")
    checkout.write("tests/test_names.py", '"""The names, those of streams."""\n')
    checkout.write(PRODUCT, 'NAME = "those of"\n')

    assert checkout.check("words")[0]


def test_mending_lowers_a_limit_to_what_there_is(checkout: Checkout) -> None:
    checkout.write(PRODUCT, '"""Names, those of streams."""\n')
    limit(checkout, 3, r"\bthose of\b")

    assert "1 \\bthose of\\b (allowed are 3: make fix)" in checkout.check("words")[1]
    assert checkout.check("words", "--fix")[0]
    assert limit_of(checkout) == 1


def test_mending_raises_no_limit(checkout: Checkout) -> None:
    checkout.write(PRODUCT, '"""Names, those of streams."""\n')
    limit(checkout, 0, r"\bthose of\b")

    assert not checkout.check("words", "--fix")[0]
    assert limit_of(checkout) == 0


@pytest.mark.parametrize(
    ("text", "finds"),
    [
        ("Which stream it is.", "^(?:What|"),
        ("A text that is no cut.", "is no"),
        ("The cuts of which one is new.", "of which"),
        ("The end of that.", "of that"),
        ("It waits for it.", "for it"),
        ("Others wait, too.", "too"),
        ("A cut, else a name.", "else"),
    ],
)
def test_the_patterns_of_the_house_find(checkout: Checkout, text: str, finds: str) -> None:
    checkout.write(PRODUCT, f'"""{text}"""\n')

    assert checkout.check("words", "--list", finds)[1].startswith(f"{PRODUCT}:1")


@pytest.mark.parametrize("text", ["There is no cut.", "It is no longer open.", "Too many wait; nobody else."])
def test_the_patterns_of_the_house_pass_plain_words(checkout: Checkout, text: str) -> None:
    checkout.write(PRODUCT, f'"""{text}"""\n')

    assert not checkout.check("words", "--list", "")[1].strip()

"""The docs list where our check and Java's disagree."""

from pathlib import Path

import pytest
from tests.unit.aiopravega.schema.avro.disagreements import DISAGREEMENTS, Disagreement

PAGE = Path(__file__).parents[5] / "docs/explanation/schema-compatibility.md"


@pytest.mark.parametrize("each", DISAGREEMENTS, ids=lambda each: each.what)
def test_a_disagreement_is_in_the_explanation_with_its_reason(each: Disagreement):
    row = f"| {each.what} | {each.java} | {' or '.join(each.ours)} | {each.why} |"
    assert row in PAGE.read_text(encoding="utf-8").splitlines()

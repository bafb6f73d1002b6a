"""Avro's own library as the judge of ours: on made-up pairs of schemas, and on the table of changes."""

import json
from collections import Counter

import pytest
from tests.java.peer import JavaSchemaJudge
from tests.unit.aiopravega.schema.avro.disagreements import DISAGREEMENTS, explanation
from tests.unit.aiopravega.schema.avro.pairs import pair
from tests.unit.aiopravega.schema.changes import changes, version

from aiopravega.schema import Compatibility, SchemaFormat, SchemaInfo
from aiopravega.schema.open import check
from aiopravega.schema.policy import CompatibilityReport

PAIRS = 2_500


@pytest.fixture(scope="module")
def judge(tmp_path_factory):
    with JavaSchemaJudge(tmp_path_factory.mktemp("judge")) as java:
        yield java


def report_of(writer: str, reader: str) -> CompatibilityReport:
    old, new = (SchemaInfo.of(SchemaFormat.AVRO, "made.up", text) for text in (writer, reader))
    return check(new, [version(old)], Compatibility(policy="Backward"))


def test_java_agrees_on_generated_pairs_except_listed_differences(judge):
    outcomes: Counter[str] = Counter()
    unexplained = []
    for seed in range(PAIRS):
        writer, reader = map(json.dumps, pair(seed))
        verdict = judge.verdict(reader, writer)
        report = report_of(writer, reader)
        try:
            outcomes[explanation(report, verdict) or f"both {report.compatible}"] += 1
        except LookupError as error:
            unexplained.append(f"seed {seed}: {error}\n  writer {writer}\n  reader {reader}")
    print(f"{PAIRS} pairs: {dict(outcomes)}")
    assert not unexplained, "\n".join(unexplained)
    assert outcomes.keys() >= {each.what for each in DISAGREEMENTS}
    assert min(outcomes["both True"], outcomes["both False"]) > PAIRS // 10


def test_java_agrees_on_the_table_of_changes_except_listed_differences(judge):
    for change in changes(SchemaFormat.AVRO):
        for writer, reader in ((change.old.text, change.new.text), (change.new.text, change.old.text)):
            explanation(report_of(writer, reader), judge.verdict(reader, writer))

"""Reads of changes: the columns and options that a merge with some rules needs, for every scheduler."""

import pytest

from aiopravega.errors import ConfigurationError
from pravega_jobs.merging import MergeRules
from pravega_jobs.merging.reading import change_options

PLAIN, GHOSTS = MergeRules.of("id"), MergeRules.of("id", ghosts="remove")
HISTORY = MergeRules.of(["id", "line"], history="scd2")
ABOUT = "_change_type string, _sequence binary, _unchanged array<string>"


@pytest.mark.parametrize(
    ("rules", "more"),
    [
        (PLAIN, ""),
        (GHOSTS, ", _op string, _snapshot string, _ingested_at timestamp"),
        (HISTORY, ", _source_ts timestamp"),
    ],
)
def test_a_read_has_the_columns_that_the_rules_need(rules, more):
    assert change_options("id int", {}, rules)["columns"] == f"id int, {ABOUT}{more}"
    assert change_options(None, {"Columns": "id int"}, rules)["columns"] == f"id int, {ABOUT}{more}"
    assert "columns" not in change_options(None, {}, rules)
    named = [each.split()[0] for each in f"{ABOUT}{more}".split(", ")]
    assert change_options(None, {}, rules)["metadata_columns"].split(",") == named
    assert "metadata_columns" not in change_options("id int", {}, rules)


def test_columns_and_options_that_a_user_gives_are_taken_as_they_are():
    named = "id int, _change_type string"
    assert change_options(named, {}, HISTORY)["columns"] == named
    found = change_options(None, {"Decode": "debezium-avro", "METADATA_COLUMNS": "_sequence"}, HISTORY)
    assert found == {"decode": "debezium-avro", "changes": "upsert", "key": "id,line"}
    with pytest.raises(ConfigurationError, match="not with decode=json"):
        change_options("id int", {"decode": "json"}, PLAIN)
    with pytest.raises(ConfigurationError, match="'id int', but 'id long' in the options: give them once"):
        change_options("id int", {"columns": "id long"}, PLAIN)

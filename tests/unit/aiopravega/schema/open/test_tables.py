"""Every change of the tables, in both directions: the violations' paths and rules, and what each of them says."""

import pytest
from tests.unit.aiopravega.schema.changes import Change, changes, version

from aiopravega.schema import Compatibility, SchemaFormat
from aiopravega.schema.open import check

FORMATS = [SchemaFormat.AVRO, SchemaFormat.JSON, SchemaFormat.PROTOBUF]
ALL = [pytest.param(each, id=f"{kind.value}: {each.name}") for kind in FORMATS for each in changes(kind)]


@pytest.mark.parametrize("change", ALL)
def test_a_change_has_its_violations(change: Change):
    report = check(change.new, [version(change.old)], Compatibility(policy="Full"))
    for direction, expected in change.expected.items():
        found = [violation for violation in report.violations if violation.direction == direction]
        assert [(each.path, each.rule) for each in found] == expected
        for each in found:
            assert each.old != each.new
            assert each.remedy
            assert each.version == 0


@pytest.mark.parametrize("change", ALL)
def test_a_schema_is_compatible_with_itself(change: Change):
    for schema in (change.old, change.new):
        assert check(schema, [version(schema)], Compatibility(policy="Full")).compatible


@pytest.mark.parametrize(("kind", "least"), list(zip(FORMATS, [60, 90, 80], strict=True)))
def test_a_table_has_many_changes_and_none_twice(kind, least):
    names = [change.name for change in changes(kind)]
    assert len(names) >= least
    assert len(set(names)) == len(names)


def test_avro_that_the_registry_refuses_is_refused_but_for_renamed_types():
    """Its own check asks for less than the specification, and for one thing more: that the type's name stays."""
    refused_there_only = {
        change.name
        for change in changes(SchemaFormat.AVRO)
        for direction, violations in change.expected.items()
        if change.server and not change.server[direction] and not violations
    }
    assert refused_there_only == {"record renamed with an alias", "record's namespace changed"}

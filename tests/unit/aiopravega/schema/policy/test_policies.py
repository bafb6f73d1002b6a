"""Policies: which versions they ask for, how they are spelled, what is refused."""

import pytest

from aiopravega.errors import ConfigurationError
from aiopravega.schema import Compatibility, SchemaFormat, SchemaInfo, SchemaVersion, VersionInfo
from aiopravega.schema.open import check
from aiopravega.schema.policy import advanced, parse_policy, sides
from aiopravega.schema.registry.model import FormatName

CUSTOM = FormatName(serialization_format=SchemaFormat.CUSTOM, full_type_name="my.format")


def schema(data: bytes, kind: FormatName = CUSTOM) -> SchemaInfo:
    made = SchemaInfo.of(SchemaFormat.CUSTOM, "User", data)
    return made.model_copy(update={"serialization_format": kind})


def versions(*datas: bytes) -> list[SchemaVersion]:
    return [
        SchemaVersion(
            schema_info=schema(data),
            version_info=VersionInfo(type="User", serialization_format="my.format", version=at, id=at + 10),
        )
        for at, data in enumerate(datas)
    ]


EXISTING = versions(b"a", b"b", b"c")


def compared(policy: Compatibility) -> list[tuple[int | None, str]]:
    """Which versions are compared in which direction: a custom schema that differs is never decided."""
    return [
        (violation.version, violation.direction) for violation in check(schema(b"new"), EXISTING, policy).violations
    ]


def test_each_plain_policy_asks_for_its_versions_in_its_directions():
    backward = [(0, "backward"), (1, "backward"), (2, "backward")]
    forward = [(0, "forward"), (1, "forward"), (2, "forward")]
    assert compared(Compatibility(policy="AllowAny")) == []
    assert compared(Compatibility(policy="DenyAll")) == [(2, "backward")]
    assert compared(Compatibility(policy="Backward")) == backward[2:]
    assert compared(Compatibility(policy="BackwardTransitive")) == backward
    assert compared(Compatibility(policy="Forward")) == forward[2:]
    assert compared(Compatibility(policy="ForwardTransitive")) == forward
    assert compared(Compatibility(policy="Full")) == backward[2:] + forward[2:]
    assert compared(Compatibility(policy="FullTransitive")) == backward + forward


def test_an_advanced_policy_goes_back_till_a_version_on_each_side():
    one = EXISTING[1].version_info
    assert compared(advanced(backward=one)) == [(1, "backward"), (2, "backward")]
    assert compared(advanced("Backward", one)) == [(2, "backward"), (1, "forward"), (2, "forward")]
    assert compared(advanced(one, "ForwardTransitive"))[2:] == [(0, "forward"), (1, "forward"), (2, "forward")]


def test_an_advanced_policy_is_spelled_as_the_registry_spells_it():
    till = {"type": "demo.User", "serializationFormat": "Avro", "version": 0, "id": 0}
    policy = advanced(VersionInfo.model_validate(till), "Forward")
    assert policy.to_json() == {
        "policy": "Advanced",
        "advanced": {
            "backwardPolicy": {"backwardPolicy": {"name": "BackwardTill", "versionInfo": till}},
            "forwardPolicy": {"forwardPolicy": {"name": "Forward"}},
        },
    }
    assert Compatibility.model_validate(policy.to_json()) == policy


def test_a_side_that_the_registry_answers_as_null_is_not_asked_for():
    value = {"backwardPolicy": {"backwardPolicy": {"name": "Backward"}}, "forwardPolicy": None}
    assert [side.direction for side in sides(Compatibility(policy="Advanced", advanced=value))] == ["backward"]


def test_a_policy_can_be_typed():
    assert parse_policy("FullTransitive") == Compatibility(policy="FullTransitive")
    assert parse_policy("BackwardTill=1", EXISTING) == advanced(EXISTING[1].version_info)
    assert parse_policy("BackwardTill=1+Forward", EXISTING) == advanced(EXISTING[1].version_info, "Forward")
    assert parse_policy("ForwardTransitive+BackwardTill=0", EXISTING) == advanced(
        EXISTING[0].version_info, "ForwardTransitive"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Sideways", "there are AllowAny, DenyAll, Backward"),
        ("Advanced", "needs backwardPolicy, forwardPolicy or both"),
        ("BackwardTill=7", "the versions are: 0, 1, 2"),
        ("BackwardTill", "no compatibility policy 'BackwardTill'"),
        ("Backward+BackwardTransitive", "is not a policy"),
        ("Backward=1", "is not a policy"),
        ("BackwardTill+Forward", "is not a policy"),
        ("Backward+Sideways", "is not a policy"),
    ],
)
def test_what_is_not_a_policy_is_refused(text, message):
    with pytest.raises(ConfigurationError, match=message):
        parse_policy(text, EXISTING)


@pytest.mark.parametrize(
    "inner", [{"name": "ForwardTill", "versionInfo": {"version": 1}}, {"name": "BackwardTill"}, {"name": "Full"}]
)
def test_an_advanced_side_of_another_name_or_no_version_is_refused(inner):
    policy = Compatibility(policy="Advanced", advanced={"backwardPolicy": {"backwardPolicy": inner}})
    with pytest.raises(ConfigurationError, match="BackwardTill with a versionInfo"):
        check(schema(b"new"), EXISTING, policy)


@pytest.mark.parametrize("policy", ["DenyAll", "Backward", "FullTransitive"])
def test_the_first_schema_of_a_type_is_compatible(policy):
    report = check(schema(b"new"), [], Compatibility(policy=policy))
    assert report.compatible
    assert report.compared == ()


def test_a_custom_schema_is_compatible_with_itself_otherwise_undecided():
    assert check(schema(b"c"), EXISTING, Compatibility(policy="Full")).compatible
    (found,) = check(schema(b"d"), EXISTING, Compatibility(policy="Backward")).violations
    assert (found.rule, found.version) == ("cannot-decide", 2)


def test_a_schema_of_another_format_is_a_violation():
    other = FormatName(serialization_format=SchemaFormat.CUSTOM, full_type_name="your.format")
    (found,) = check(schema(b"c", other), EXISTING, Compatibility(policy="Forward")).violations
    assert (found.rule, found.old, found.new) == ("format-changed", "my.format", "your.format")


def test_the_report_has_all_of_it_as_json_and_as_a_table():
    report = check(schema(b"new"), EXISTING, Compatibility(policy="Backward"))
    assert report.to_json() == {
        "format": "my.format",
        "policy": {"policy": "Backward"},
        "compatible": False,
        "compared": [{"type": "User", "serializationFormat": "my.format", "version": 2, "id": 12}],
        "violations": [
            {
                "path": "User",
                "rule": "cannot-decide",
                "old": "1 bytes",
                "new": "3 bytes",
                "remedy": "the meaning of a custom schema is not known here: compare the two by hand, or use AllowAny",
                "version": 2,
                "direction": "backward",
            }
        ],
    }
    lines = report.table().splitlines()
    assert lines[0].split() == ["version", "direction", "path", "rule", "old", "new"]
    assert lines[2].split()[:4] == ["2", "backward", "User", "cannot-decide"]
    assert lines[3].startswith("         remedy: the meaning of a custom schema is not known here")
    assert lines[-1] == "not compatible: 1 violation (my.format, Backward, compared with versions: 2)"
    allowed = check(schema(b"new"), EXISTING, Compatibility(policy="AllowAny"))
    assert allowed.table() == "compatible (my.format, AllowAny, compared with versions: none)"

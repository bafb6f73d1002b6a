"""Which group a stream has, what a new one is like, and which type a candidate has: without a registry."""

import pytest

from aiopravega import StreamName
from aiopravega.errors import ConfigurationError, SchemaRefusedError
from aiopravega.schema import Compatibility, FormatName, GroupProperties, SchemaFormat, SchemaInfo
from aiopravega.schema.open import GroupAddress, NewGroup, SchemaReport
from aiopravega.schema.policy import CompatibilityReport, Violation

ORDERS = StreamName("shop", "orders")
JSON = FormatName.of(SchemaFormat.JSON)


def test_a_stream_has_its_group_in_its_scopes_namespace_or_the_default():
    assert GroupAddress.of_stream(ORDERS) == GroupAddress("orders", ("shop", ""))
    assert GroupAddress.of_stream(ORDERS, "other") == GroupAddress("other", ("shop", ""))
    assert GroupAddress.of_stream(ORDERS, namespace="") == GroupAddress("orders", ("",))
    assert str(GroupAddress.of_stream(ORDERS)) == "'orders' in namespace 'shop' or the default namespace"


@pytest.mark.parametrize(
    ("form", "policy"),
    [
        (SchemaFormat.AVRO, "BackwardTransitive"),
        (SchemaFormat.JSON, "BackwardTransitive"),
        (SchemaFormat.PROTOBUF, "BackwardTransitive"),
        (SchemaFormat.ANY, "AllowAny"),
        ("my.format", "AllowAny"),
    ],
)
def test_a_new_group_has_one_default_policy_for_its_format(form, policy):
    assert GroupProperties.of(form).compatibility.policy == policy
    assert NewGroup().properties(FormatName.of(form)) == GroupProperties.of(form)


def test_a_new_group_can_have_another_policy_many_types_and_any_format():
    found = NewGroup("Backward+Forward", multiple_types=True, format=SchemaFormat.ANY).properties(JSON)

    assert (found.format, found.allow_multiple_types, found.compatibility.policy) == ("Any", True, "Advanced")
    with pytest.raises(ConfigurationError, match="Sideways"):
        NewGroup("Sideways").properties(JSON)


def test_a_report_that_is_required_to_pass_says_why_it_does_not():
    candidate = SchemaInfo.of(SchemaFormat.JSON, "orders", "{}")
    violation = Violation("$.id", "type-narrowed", "integer", "string", "admit integer", 0, "backward")
    policy = Compatibility(policy="Full")
    passed = SchemaReport("orders", "shop", candidate, "policy", CompatibilityReport("Json", policy, (), ()))
    refused = SchemaReport("orders", "shop", candidate, "policy", CompatibilityReport("Json", policy, (), (violation,)))

    assert passed.require() is passed
    with pytest.raises(SchemaRefusedError, match="admit integer"):
        refused.require()

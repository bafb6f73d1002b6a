"""The gate for schemas on a real registry: what passes, what is refused, and what is registered."""

import json
import uuid

import pyarrow as pa
import pytest

from aiopravega import StreamName
from aiopravega.errors import ConfigurationError, GroupNotFoundError, InvalidSchemaError, SchemaRefusedError
from aiopravega.gates import check_schema
from aiopravega.gates.candidates import resolve
from aiopravega.schema import Compatibility, SchemaFormat, SchemaInfo, SchemaRegistry
from aiopravega.schema.open import GroupAddress, find_group, register_schema

ID = '{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"],"additionalProperties":false}'
OTHER_ID = ID.replace("integer", "string")


def json_schema(text: str) -> SchemaInfo:
    return SchemaInfo.of(SchemaFormat.JSON, "", text)


@pytest.fixture
def stream() -> StreamName:
    return StreamName(f"scope-{uuid.uuid4().hex}", "orders")


async def test_a_compatible_schema_passes_and_is_registered_on_request(registry, group, order):
    dry = await check_schema(registry, group, order("good"))
    assert (dry.passed, dry.registered, len(await registry.versions(group))) == (True, None, 1)
    assert [version.version for version in dry.compatibility.compared] == [0]

    done = await check_schema(registry, group, order("good"), register=True)
    assert done.passed
    assert done.registered is not None
    assert done.registered.version == 1
    assert "registered as version 1" in done.summary()

    again = await check_schema(registry, group, order("good"), register=True)
    assert (again.known, again.registered) == (done.registered, done.registered)
    assert "has it as version 1" in again.summary()


async def test_a_schema_that_may_not_follow_is_refused_and_leaves_no_trace(registry, group, order):
    report = await check_schema(registry, group, order("bad"), register=True)

    assert not report.passed
    [violation] = report.compatibility.violations
    assert "amount" in violation.path
    assert violation.remedy
    assert "refused: Order" in report.table()
    assert json.loads(json.dumps(report.to_json()))["passed"] is False
    assert len(await registry.versions(group)) == 1


async def test_the_group_is_asked_for_versions_and_directions_that_are_chosen(registry, group, order):
    await registry.add_schema(group, order("good"))

    # Readers of the first schema know no note, and need none; readers of the second one fill it in.
    for against, compared in (("latest", [1]), ("all", [0, 1]), (0, [0]), ("0", [0])):
        report = await check_schema(registry, group, order("bad"), against=against, policy="Forward")
        assert [version.version for version in report.compatibility.compared] == compared
        assert report.passed
        assert not (await check_schema(registry, group, order("bad"), against=against)).passed
    with pytest.raises(ConfigurationError, match=r"no version 7 .*0, 1"):
        await check_schema(registry, group, order("bad"), against=7)
    with pytest.raises(ConfigurationError, match="Sideways"):
        await check_schema(registry, group, order("bad"), policy="Sideways")


async def test_comparing_in_a_group_that_allows_any_schema_needs_a_policy(registry, group, order):
    await registry.update_compatibility(group, Compatibility(policy="AllowAny"))

    assert (await check_schema(registry, group, order("bad"))).passed
    with pytest.raises(ConfigurationError, match="give policy="):
        await check_schema(registry, group, order("bad"), against="latest")


async def test_another_type_or_format_is_not_for_this_group(registry, group, order):
    report = await check_schema(registry, group, order("v1", "Other"))
    assert [violation.rule for violation in report.compatibility.violations] == ["type-not-allowed"]
    with pytest.raises(SchemaRefusedError, match="format Avro, but the candidate is Json"):
        await check_schema(registry, group, json_schema(ID))
    with pytest.raises(GroupNotFoundError):
        await check_schema(registry, f"{group}-2", order())
    with pytest.raises(InvalidSchemaError):
        await check_schema(registry, group, SchemaInfo.of(SchemaFormat.AVRO, "Order", '{"type":"record"}'))


async def test_json_is_checked_here_because_the_registry_does_not(registry, stream):
    made = await register_schema(registry, stream, json_schema(ID), new_policy="Full")
    assert (made.made_group, made.candidate.type, made.namespace) == (True, "orders", stream.scope)

    refused = await check_schema(registry, made.group, json_schema(OTHER_ID), namespace=made.namespace, register=True)
    assert not refused.passed
    with pytest.raises(SchemaRefusedError, match="refused: orders"):
        await register_schema(registry, stream, json_schema(OTHER_ID))
    assert len(await registry.versions(made.group, made.namespace)) == 1


async def test_what_a_gate_allows_but_not_the_group_is_not_registered(registry, stream):
    made = await register_schema(registry, stream, json_schema(ID), new_policy="Full")

    asked = {"namespace": stream.scope, "policy": "AllowAny"}
    assert (await check_schema(registry, made.group, json_schema(OTHER_ID), **asked)).passed
    report = await check_schema(registry, made.group, json_schema(OTHER_ID), **asked, register=True)

    assert (report.passed, report.compatibility.policy.policy) == (False, "Full")
    assert len(await registry.versions(made.group, stream.scope)) == 1


class Overtaken(SchemaRegistry):
    """A client of the registry that is always slower than another one."""

    theirs: SchemaInfo

    async def _send_schema(self, group, schema, namespace):
        await super()._send_schema(group, self.theirs, namespace)
        return await super()._send_schema(group, schema, namespace)


async def test_what_somebody_adds_in_the_meantime_counts(registry, stream):
    first = await register_schema(registry, stream, json_schema('{"type":"object"}'), new_policy="Backward")
    ours = json_schema('{"type":"object","title":"ours"}')
    async with Overtaken(registry.config) as overtaken:
        overtaken.theirs = json_schema(OTHER_ID).model_copy(update={"type": "orders"})
        report = await check_schema(
            overtaken, first.group, ours, namespace=first.namespace, policy="Forward", register=True
        )

    assert not report.passed
    assert [version.version for version in report.compatibility.compared] == [1]
    left = [json.loads(one.schema_info.text) for one in await registry.versions(first.group, first.namespace)]
    assert left == [{"type": "object"}, json.loads(OTHER_ID)]


async def test_no_group_is_left_if_its_first_schema_cannot_be_registered(registry, stream):
    with pytest.raises(InvalidSchemaError):
        await register_schema(registry, stream, json_schema('{"type":"nonsense"}'))
    with pytest.raises(GroupNotFoundError):
        await registry.group("orders", stream.scope)


async def test_a_candidate_can_be_the_schema_of_another_stream(registry, stream, order):
    await register_schema(registry, stream, order("good"))
    for source in (stream, f"pravega://{stream}"):
        assert (await resolve(registry, source, StreamName("a", "b"))).text == order("good").text
    with pytest.raises(GroupNotFoundError, match="in namespace 'a' or the default namespace"):
        await resolve(registry, "pravega://a/missing", stream)


async def test_columns_become_a_schema_of_the_groups_type(registry, stream, order):
    await register_schema(registry, stream, order())
    columns = pa.schema([("id", pa.int64()), ("note", pa.string())])

    group = await find_group(registry, GroupAddress.of_stream(stream))
    candidate = await resolve(registry, columns, stream, group=group)
    report = await check_schema(registry, "orders", candidate, namespace=stream.scope)

    assert (candidate.type, candidate.format) == ("Order", SchemaFormat.AVRO)
    assert report.passed  # what was a long may be null now, and the note has a default

"""Programs that register the first schema of a stream at the same time: one group, one policy, schemas that fit it."""

import asyncio
import json
import sys
import uuid
from collections.abc import Sequence
from typing import Any

import pytest

from aiopravega import StreamName
from aiopravega.schema import RegistryConfig, SchemaFormat, SchemaInfo, SchemaRegistry
from aiopravega.schema.open import GroupAddress, NewGroup, check, offer_schema

POLICIES = ("Full", "Backward", "ForwardTransitive", "AllowAny", "FullTransitive", "BackwardTransitive")


def with_id(form: SchemaFormat, kind: str) -> SchemaInfo:
    """Schemas of which none may follow another one but under AllowAny."""
    if form is SchemaFormat.AVRO:
        several = {"array": {"type": "array", "items": "long"}, "object": {"type": "map", "values": "long"}}
        names = {"integer": "long", **several}
        fields = [{"name": "id", "type": names.get(kind, kind)}]
        return SchemaInfo.of(form, "orders", json.dumps({"type": "record", "name": "orders", "fields": fields}))
    text = json.dumps({"type": "object", "properties": {"id": {"type": kind}}, "required": ["id"]})
    return SchemaInfo.of(form, "orders", text)


async def in_processes(config: RegistryConfig, stream: StreamName, form: SchemaFormat) -> list[dict[str, Any]]:
    """What each of two programs, with three clients each, reports about its own registrations."""
    programs = [
        await asyncio.create_subprocess_exec(
            sys.executable, __file__, config.uri, str(stream), form, *policies, stdin=-1, stdout=-1
        )
        for policies in (POLICIES[:3], POLICIES[3:])
    ]
    for program in programs:  # all clients are connected
        assert program.stdout is not None
        assert await program.stdout.readline() == b"ready\n"
    outputs = await asyncio.gather(*(program.communicate(b"go\n") for program in programs))
    return [json.loads(line) for out, _ in outputs for line in out.splitlines()]


@pytest.mark.parametrize("form", [SchemaFormat.AVRO, SchemaFormat.JSON])
async def test_racing_registrations_make_one_group_with_one_policy_for_all(registry, form):
    for _ in range(3):
        stream = StreamName(f"scope-{uuid.uuid4().hex}", "orders")

        outputs = await in_processes(registry.config, stream, form)

        assert len(outputs) == len(POLICIES)
        group = await registry.group(stream.stream, stream.scope)
        assert group.compatibility.policy in POLICIES
        assert {output["policy"] for output in outputs} == {group.compatibility.policy}
        kept = await registry.versions(stream.stream, stream.scope)
        assert len(kept) >= 1
        for number, version in enumerate(kept):
            assert check(version.schema_info, kept[:number], group.compatibility).compatible
        passed = sorted(output["version"] for output in outputs if output["passed"])
        assert passed == [version.version_info.version for version in kept]


async def test_the_next_process_gives_a_half_made_group_its_policy(registry):
    class Stopped(SchemaRegistry):
        """A client whose process ends before the second request."""

        async def update_compatibility(self, *arguments: Any, **named: Any) -> None:
            raise asyncio.CancelledError

        async def delete_group(self, *arguments: Any, **named: Any) -> None:
            raise asyncio.CancelledError

    address = GroupAddress(f"group-{uuid.uuid4().hex}")
    schema = with_id(SchemaFormat.JSON, "string")
    async with Stopped(registry.config) as stopped:
        with pytest.raises(asyncio.CancelledError):
            await offer_schema(stopped, address, schema, NewGroup("Forward"))
    assert (await registry.group(address.name)).compatibility.policy == "DenyAll"

    report = await offer_schema(registry, address, schema, NewGroup("Backward"))

    assert (report.passed, report.compatibility.policy.policy) == (True, "Forward")
    assert (await registry.group(address.name)).compatibility.policy == "Forward"


async def race(uri: str, stream: StreamName, form: SchemaFormat, policies: Sequence[str]) -> None:
    """Register one schema with each policy at the same time; print the result of each."""
    kinds = dict(zip(POLICIES, ("string", "integer", "boolean", "null", "array", "object"), strict=True))

    async def register(policy: str) -> None:
        # On a busy machine the registry may need longer than usual for what six clients ask it at once.
        async with SchemaRegistry(RegistryConfig(uri=uri, request_timeout=60)) as registry:
            await registry.ping()
            ready.release()
            await go.wait()
            schema = with_id(form, kinds[policy])
            report = await offer_schema(registry, GroupAddress.of_stream(stream), schema, NewGroup(policy))
        version = None if report.registered is None else report.registered.version
        found = {"passed": report.passed, "policy": report.compatibility.policy.policy, "version": version}
        print(json.dumps(found), flush=True)

    ready, go = asyncio.Semaphore(0), asyncio.Event()
    tasks = [asyncio.create_task(register(policy)) for policy in policies]
    for _ in tasks:
        await ready.acquire()
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    go.set()
    await asyncio.gather(*tasks)


if __name__ == "__main__":
    _, its_uri, its_stream, its_form, *its_policies = sys.argv
    asyncio.run(race(its_uri, StreamName.parse(its_stream), SchemaFormat(its_form), its_policies))

"""The groups of a registry: the group of a stream, and the making of a group, which several programs may do at once.

The registry 0.6.0 makes a group in several steps. If several programs make a group at the same time, one or none of
them gets the answer that it made the group; the others get status 500. The policy may be that of any of them, so only
the policy that the group has afterwards counts.

A new group of a format other than Avro may have the policies `AllowAny` and `DenyAll` only; the registry accepts others
later. Until then the group is closed (`DenyAll`), and its property `aiopravega.policy`, which cannot change, holds the
policy that it was made for. Any caller that finds a closed and empty group with this property sets that policy.
"""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Self

from aiopravega.errors import GroupNotFoundError, PravegaError, SchemaRefusedError, ServerError
from aiopravega.schema.policy import DENY_ALL, parse_policy, sides
from aiopravega.schema.registry.model import ALLOW_ANY, Compatibility, FormatName, GroupProperties, SchemaFormat

if TYPE_CHECKING:
    from aiopravega.names import StreamName
    from aiopravega.schema.registry.client import RegistryClient

_MADE_FOR: Final = "aiopravega.policy"  # the property; its value is the JSON of a `Compatibility`
# Policies that the registry accepts for every new group; it accepts others for new groups of Avro only.
_OF_EVERY_FORMAT: Final = frozenset({ALLOW_ANY, DENY_ALL})


@dataclass(frozen=True, slots=True)
class Group:
    """A group of the registry. `made` is true if the call that returned this made the group."""

    name: str
    namespace: str
    properties: GroupProperties
    made: bool = False


@dataclass(frozen=True, slots=True)
class GroupAddress:
    """A group's name, and the namespaces to search for the group, in order; a new group is made in the first.

    The namespace `""` is the registry's default one.
    """

    name: str
    namespaces: tuple[str, ...] = ("",)

    @classmethod
    def of_stream(cls, stream: "StreamName", group: str | None = None, namespace: str | None = None) -> Self:
        """The group of a stream: the answer for reads and writes, gates and catalogs.

        Args:
            stream: the stream.
            group: the group's name; by default the stream's.
            namespace: the only one to search; by default first the scope's name, as Pravega's Flink connector has it,
                then the default namespace, which serializers of Java use unless they are given another.
        """
        return cls(group or stream.stream, (stream.scope, "") if namespace is None else (namespace,))

    def __str__(self) -> str:
        searched = " or ".join(f"namespace {each!r}" if each else "the default namespace" for each in self.namespaces)
        return f"{self.name!r} in {searched}"


@dataclass(frozen=True, slots=True)
class NewGroup:
    """The properties of a group that does not exist yet; an existing group stays as it is.

    `policy` is a name or text as for `parse_policy`, by default the policy of `GroupProperties.of`. With
    `multiple_types` the group accepts schemas of several types. `format` is its format; by default that of its first
    schema.
    """

    policy: str | None = None
    multiple_types: bool = False
    format: SchemaFormat | None = None

    def properties(self, first: FormatName) -> GroupProperties:
        """The properties of a group whose first schema has this format.

        Raises:
            ConfigurationError: there is no such policy.
        """
        form = first if self.format is None else FormatName.of(self.format)
        made = GroupProperties.of(form.full_type_name or form.serialization_format, multiple_types=self.multiple_types)
        return made if self.policy is None else made.model_copy(update={"compatibility": parse_policy(self.policy)})


async def find_group(registry: "RegistryClient", address: GroupAddress) -> Group | None:
    """The group at an address; None if there is none.

    Raises:
        PravegaError: the registry cannot be asked.
    """
    for namespace in address.namespaces:
        with suppress(GroupNotFoundError):
            return Group(address.name, namespace, await registry.group(address.name, namespace))
    return None


async def need_group(registry: "RegistryClient", address: GroupAddress) -> Group:
    """The group at an address.

    Raises:
        GroupNotFoundError: there is none.
        PravegaError: the registry cannot be asked.
    """
    group = await find_group(registry, address)
    if group is None:
        raise GroupNotFoundError(
            f"the Schema Registry at {registry.config.uri} has no group {address}: give the name and the namespace of "
            "the group, or register the first schema, which makes it"
        )
    return group


async def make_group(registry: "RegistryClient", name: str, properties: GroupProperties, namespace: str = "") -> Group:
    """Make a group with any policy; a group that exists, or that another program makes meanwhile, is returned.

    Raises:
        ConfigurationError: there is no such policy; nothing is made.
        PravegaError: the registry refuses; a group that was made for this is removed again.
    """
    wanted = properties.compatibility
    sides(wanted)  # it refuses a policy that does not exist
    sent = properties if properties.format is SchemaFormat.AVRO else _closed(properties)
    try:
        made = maybe_ours = await registry._send_group(name, sent, namespace)  # noqa: SLF001 - only this function sends it
    except ServerError:  # another program makes it at the same time, and the policy of either may be kept
        if await find_group(registry, GroupAddress(name, (namespace,))) is None:
            raise
        made, maybe_ours = False, True
    async with removed_if_refused(registry, name, namespace, made=made):
        group = Group(name, namespace, await registry.group(name, namespace), made)
        return await with_policy(registry, group, wanted if maybe_ours else None)


def _closed(properties: GroupProperties) -> GroupProperties:
    """The same with a policy that the registry accepts for any new group, and the wanted one as a property."""
    wanted = properties.compatibility
    return properties.model_copy(
        update={
            "compatibility": Compatibility(policy=wanted.policy if wanted.policy in _OF_EVERY_FORMAT else DENY_ALL),
            "properties": {**properties.properties, _MADE_FOR: json.dumps(wanted.to_json())},
        }
    )


async def with_policy(registry: "RegistryClient", group: Group, ours: Compatibility | None = None) -> Group:
    """A group with the policy that it was made for, which is set here if its maker has not done so yet.

    Args:
        registry: a client of it.
        group: the group as the registry has it.
        ours: the caller's policy, for a closed group that lacks the property.

    Raises:
        PravegaError: the registry refuses.
    """
    closed = group.properties.compatibility
    if group.properties.format is SchemaFormat.AVRO or closed.policy != DENY_ALL:
        return group
    recorded = group.properties.properties.get(_MADE_FOR)
    wanted = ours if recorded is None else Compatibility.model_validate_json(recorded)
    if wanted in (None, closed):
        return group
    assert wanted is not None
    failure: PravegaError | None = None
    # If it has a schema by now, another program has opened it meanwhile, or has closed it again on purpose.
    if not await registry.versions(group.name, group.namespace):
        try:
            await registry.update_compatibility(group.name, wanted, closed, group.namespace)
        except (SchemaRefusedError, ServerError) as error:  # others have changed the policy, or are doing so
            failure = error
    now = await registry.group(group.name, group.namespace)
    if failure is not None and now.compatibility == closed:
        raise failure
    return replace(group, properties=now)


@asynccontextmanager
async def removed_if_refused(
    registry: "RegistryClient", group: str, namespace: str, *, made: bool
) -> AsyncIterator[None]:
    """Run a block that adds the first schema to a group; if it fails, remove the group if it was `made` for that.

    A group to which another program has added a schema meanwhile stays.
    """
    try:
        yield
    except BaseException:
        if made:
            with suppress(PravegaError):  # the reported error is why the schema could not be added
                if not await registry.versions(group, namespace):
                    await registry.delete_group(group, namespace)
        raise

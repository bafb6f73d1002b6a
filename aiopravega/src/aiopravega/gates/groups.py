"""The registry's group of a stream: where it is, and how one is made that has the wanted policy."""

from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from aiopravega.errors import GroupNotFoundError, ServerError
from aiopravega.names import StreamName
from aiopravega.schema import Compatibility, GroupProperties, SchemaFormat, SchemaRegistry
from aiopravega.schema.compatibility import parse_policy
from aiopravega.schema.model import FormatName

# Readers of the newest schema read all that was ever written: what a log that is read again needs.
DEFAULT_POLICY: Final = "BackwardTransitive"
ALLOW_ANY: Final = "AllowAny"
# Policies that the registry lets every new group have; others only those of Avro, until they are changed.
_OF_EVERY_FORMAT: Final = frozenset({ALLOW_ANY, "DenyAll"})


@dataclass(frozen=True, slots=True)
class Group:
    """A group that the registry has."""

    name: str
    namespace: str
    properties: GroupProperties


async def find_group(
    registry: SchemaRegistry, stream: StreamName, group: str | None = None, namespace: str | None = None
) -> Group | None:
    """The group of a stream; None if there is none.

    It is named after the stream unless `group` says otherwise. If no namespace is given, that of the scope's name comes
    first, as Pravega's Flink connector has it, and then the default one, which serializers use unless they are told.
    """
    name = group or stream.stream
    for place in (stream.scope, "") if namespace is None else (namespace,):
        try:
            return Group(name, place, await registry.group(name, place))
        except GroupNotFoundError:
            continue
    return None


async def need_group(
    registry: SchemaRegistry, stream: StreamName, group: str | None = None, namespace: str | None = None
) -> Group:
    """The group of a stream; see `find_group`.

    Raises:
        GroupNotFoundError: there is none.
    """
    found = await find_group(registry, stream, group, namespace)
    if found is None:
        where = (
            f"namespace {stream.scope!r} nor in the default one" if namespace is None else f"namespace {namespace!r}"
        )
        raise GroupNotFoundError(
            f"the Schema Registry at {registry.config.uri} has no group {group or stream.stream!r} for {stream}, "
            f"{'neither ' if namespace is None else ''}in {where}: name it, or make it with the stream's first schema"
        )
    return found


async def make_group(
    registry: SchemaRegistry,
    name: str,
    namespace: str,
    form: FormatName,
    policy: str | None = None,
    *,
    multiple_types: bool = False,
) -> bool:
    """Make a group with a policy (by default `BackwardTransitive`; `AllowAny` for formats that nobody can compare).

    The registry refuses most policies for new groups of formats that it cannot compare itself, but takes them later;
    the checks on this side go by them. Returns False if the group exists, which then stays as it is.

    Raises:
        ConfigurationError: there is no such policy.
        PravegaError: the registry refuses; no group is left.
    """
    kind = form.serialization_format
    comparable = kind in (SchemaFormat.AVRO, SchemaFormat.JSON, SchemaFormat.PROTOBUF)
    wanted = parse_policy(policy or (DEFAULT_POLICY if comparable else ALLOW_ANY))
    at_once = kind is SchemaFormat.AVRO or wanted.policy in _OF_EVERY_FORMAT
    properties = GroupProperties(
        serialization_format=form,
        compatibility=wanted if at_once else Compatibility(policy=ALLOW_ANY),
        allow_multiple_types=multiple_types,
    )
    if not await _create(registry, name, namespace, properties):
        return False
    if not at_once:
        try:
            await registry.update_compatibility(name, wanted, namespace=namespace)
        except BaseException:
            await registry.delete_group(name, namespace)
            raise
    return True


async def _create(registry: SchemaRegistry, name: str, namespace: str, properties: GroupProperties) -> bool:
    try:
        return await registry.create_group(name, properties, namespace)
    except ServerError:
        # Of two that make a group at the same time, the registry answers 500 to one.
        with suppress(GroupNotFoundError):
            await registry.group(name, namespace)
            return False
        raise

"""The registry's policies: which versions a new schema is compared with, and in which direction.

Names and nesting are the registry's (`Compatibility` of its contract). One meaning differs: in `Advanced`, the
registry's server compares Backward beside a ForwardTill with all versions that it has fetched for the other side. Here,
Backward and Forward always mean the latest version.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from aiopravega.errors import ConfigurationError
from aiopravega.schema.policy.findings import Direction
from aiopravega.schema.registry.model import ALLOW_ANY, Compatibility, SchemaVersion, VersionInfo

_DIRECTIONS: Final[Mapping[str, tuple[Direction, ...]]] = {
    "Backward": ("backward",),
    "Forward": ("forward",),
    "Full": ("backward", "forward"),
}
_TRANSITIVE: Final = "Transitive"
_TILL: Final = "Till"
DENY_ALL: Final = "DenyAll"
ADVANCED: Final = "Advanced"
_NAMES: Final = (ALLOW_ANY, DENY_ALL, *_DIRECTIONS, *(f"{name}{_TRANSITIVE}" for name in _DIRECTIONS), ADVANCED)


@dataclass(frozen=True, slots=True)
class Side:
    """One direction of a policy. `since` is the oldest version that counts; None: the latest version only."""

    direction: Direction
    since: int | None

    def of(self, existing: Sequence[SchemaVersion]) -> Sequence[SchemaVersion]:
        """The versions that this side asks for; `existing` is oldest first."""
        if self.since is None:
            return existing[-1:]
        return [each for each in existing if each.version_info.version >= self.since]


def sides(policy: Compatibility) -> tuple[Side, ...]:
    """The directions and versions that a policy compares; none for `AllowAny` and `DenyAll`.

    Raises:
        ConfigurationError: the policy is not one of the registry's, or its `advanced` part is incomplete.
    """
    name = policy.policy
    if name in {ALLOW_ANY, DENY_ALL}:
        return ()
    if name == ADVANCED:
        return _advanced_sides(policy.advanced)
    directions = _DIRECTIONS.get(name.removesuffix(_TRANSITIVE))
    if directions is None:
        raise ConfigurationError(f"no compatibility policy {name!r}; there are {', '.join(_NAMES)}")
    return tuple(Side(direction, 0 if name.endswith(_TRANSITIVE) else None) for direction in directions)


def _advanced_sides(value: Mapping[str, Any] | None) -> tuple[Side, ...]:
    found = []
    for direction in ("backward", "forward"):
        key = f"{direction}Policy"
        # The registry wraps each side twice; a side that is not asked for is absent or null.
        inner = ((value or {}).get(key) or {}).get(key)
        if inner:
            found.append(_advanced_side(direction, inner))
    if not found:
        raise ConfigurationError(
            "the policy Advanced needs backwardPolicy, forwardPolicy or both: compatibility.advanced makes it"
        )
    return tuple(found)


def _advanced_side(direction: Direction, inner: Mapping[str, Any]) -> Side:
    name, base = inner.get("name"), direction.capitalize()
    if name == base:
        return Side(direction, None)
    if name == base + _TRANSITIVE:
        return Side(direction, 0)
    till = inner.get("versionInfo")
    if name != base + _TILL or not isinstance(till, Mapping) or not isinstance(till.get("version"), int):
        raise ConfigurationError(
            f"{direction}Policy of the policy Advanced is {dict(inner)}; it is named {base}, {base}{_TRANSITIVE}, or "
            f"{base}{_TILL} with a versionInfo"
        )
    return Side(direction, till["version"])


def advanced(backward: str | VersionInfo | None = None, forward: str | VersionInfo | None = None) -> Compatibility:
    """The policy `Advanced`, as the registry spells it: for each side a name, or the version till which it goes back.

    Raises:
        ConfigurationError: a name does not belong to its side, or both sides are absent.
    """
    value = {}
    for direction, given in (("backward", backward), ("forward", forward)):
        if given is None:
            continue
        if isinstance(given, VersionInfo):
            inner = {"name": direction.capitalize() + _TILL, "versionInfo": given.to_json()}
        else:
            inner = {"name": given}
        value[f"{direction}Policy"] = {f"{direction}Policy": inner}
    made = Compatibility(policy=ADVANCED, advanced=value)
    sides(made)
    return made


def parse_policy(text: str, existing: Sequence[SchemaVersion] = ()) -> Compatibility:
    """A policy from its text: a name, or for `Advanced` sides joined by "+", such as "BackwardTill=2+Forward".

    `existing` gives the versions for a "till"; a version that does not exist is refused.

    Raises:
        ConfigurationError: there is no such policy, or no such version.
    """
    if "=" not in text and "+" not in text:
        made = Compatibility(policy=text)
        sides(made)
        return made
    given: dict[str, str | VersionInfo] = {}
    for part in text.split("+"):
        name, _, version = part.strip().partition("=")
        direction = name.removesuffix(_TILL).removesuffix(_TRANSITIVE).lower()
        if direction not in {"backward", "forward"} or direction in given or name.endswith(_TILL) != bool(version):
            raise ConfigurationError(f"{text!r} is not a policy: give, for example, BackwardTill=2+ForwardTransitive")
        given[direction] = _version(version, existing) if version else name
    return advanced(**given)


def _version(text: str, existing: Sequence[SchemaVersion]) -> VersionInfo:
    for each in existing:
        if str(each.version_info.version) == text:
            return each.version_info
    known = ", ".join(str(each.version_info.version) for each in existing) or "none"
    raise ConfigurationError(f"there is no version {text!r} to compare with; the versions are: {known}")

"""Commands: frozen dataclasses with a number, and a codec for each of their attributes.

An attribute's codec is in its annotation, so that a command's declaration is its layout. Trailing attributes
with defaults may be missing in a frame: older servers leave them out.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform, get_type_hints

from aiopravega.errors import ProtocolError
from aiopravega.wire.fields import AnyField

C = TypeVar("C", bound="Command")


class Command:
    """The root of all commands; `TYPE` is Pravega's number of it (`WireCommandType`)."""

    __slots__ = ()
    TYPE: ClassVar[int]
    LAYOUT: ClassVar[tuple[tuple[str, AnyField, Any], ...]]

    def write_fields(self, frame: bytearray) -> None:
        """Append all attributes to a frame."""
        for name, field, _ in self.LAYOUT:
            field.write(frame, getattr(self, name))

    @classmethod
    def read_fields(cls, frame: memoryview) -> Self:
        """Read the payload of a frame; bytes beyond the known fields are ignored, as Pravega's own reader does.

        Raises:
            ProtocolError: the frame is too short, or a field is not valid.
        """
        values: list[Any] = []
        at = 0
        for _, field, default in cls.LAYOUT:
            if at == len(frame) and default is not dataclasses.MISSING:
                values.append(default)
                continue
            value, at = field.read(frame, at)
            values.append(value)
        return cls(*values)


class Request(Command):
    """A command that a client sends."""

    __slots__ = ()


class Reply(Command):
    """A command with which a segment store answers."""

    __slots__ = ()


COMMANDS: dict[int, type[Command]] = {}


@dataclass_transform(frozen_default=True)
def command(number: int) -> Callable[[type[C]], type[C]]:
    """Class decorator: a frozen dataclass with a layout by its annotations, readable by Pravega's number."""

    def made(described: type[C]) -> type[C]:
        declared = dataclasses.dataclass(frozen=True, slots=True)(described)
        hints = get_type_hints(declared, include_extras=True)
        declared.TYPE = number
        declared.LAYOUT = tuple(
            (attribute.name, hints[attribute.name].__metadata__[0], attribute.default)
            for attribute in dataclasses.fields(declared)  # type: ignore[arg-type]  # every command is a dataclass
        )
        if number in COMMANDS:
            raise ProtocolError(f"two commands have the number {number}")
        COMMANDS[number] = declared
        return declared

    return made

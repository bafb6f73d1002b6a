"""Unions as Avro writes them: the number of a branch, then its value.

A column that fits one branch is written as that branch. A union of several types has a column for each, as in a read:
`member0`, `member1` and so on; one of them has a value.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aiopravega.errors import ConfigurationError
from aiopravega.schema.arrow.byte_columns import constant, joined, missing, varints, zigzag
from aiopravega.schema.avro.columns.types import members, merged
from aiopravega.schema.avro.model import NULL, AvroType, Union


class Encoder(Protocol):
    """Encodes the values of one schema."""

    def encode(self, array: pa.Array, where: str) -> pa.BinaryArray:
        """The bytes of each value, null where it is null; `where` is the column's path in errors."""


EncoderOf = Callable[[AvroType, pa.DataType, str], Encoder]


@dataclass(frozen=True, slots=True)
class Branch:
    """Encodes values of one branch; null becomes the branch null, if the union has that."""

    inner: Encoder
    number: bytes
    absent: bytes | None

    def encode(self, array: pa.Array, where: str) -> pa.BinaryArray:
        value = joined(constant(self.number), self.inner.encode(array, where))
        return value if self.absent is None else value.fill_null(constant(self.absent))


@dataclass(frozen=True, slots=True)
class Members:
    """Encodes a value out of one of several columns."""

    branches: tuple[Branch, ...]
    absent: bytes | None

    def encode(self, array: pa.Array, where: str) -> pa.BinaryArray:
        parts = [
            branch.encode(column, f"{where}.member{number}")
            for number, (branch, column) in enumerate(zip(self.branches, array.flatten(), strict=True))
        ]
        given = np.sum([~missing(part) for part in parts], axis=0)
        if (given > 1).any():
            raise ConfigurationError(
                f"{where} has values of several members in row {int(np.flatnonzero(given > 1)[0])} of its batch, but a "
                "union is one of them: set the others to null"
            )
        value = pc.coalesce(*parts)
        return value if self.absent is None else value.fill_null(constant(self.absent))


def number_of(union: Union, branch: AvroType) -> bytes:
    """The bytes before a value of a union: the number of its branch."""
    number: bytes = varints(zigzag(np.array([union.branches.index(branch)])))[0].as_py()
    return number


def union_encoder(union: Union, kind: pa.DataType, where: str, encoder_of: EncoderOf) -> Encoder:
    """The encoder of a column for a union.

    Raises:
        ConfigurationError: the column does not fit any branch.
    """
    absent = number_of(union, NULL) if NULL in union.branches else None
    branches = [union.branches[index] for index in members(union)]
    wide = merged(union)
    if wide is not None:  # int and long, or float and double: the wider one holds all
        branches = [wide]
    complaints = []
    for branch in branches:
        try:
            return Branch(encoder_of(branch, kind, where), number_of(union, branch), absent)
        except ConfigurationError as error:
            complaints.append(error)
    if len(branches) == 1:
        raise complaints[0]
    names = [f"member{number}" for number in range(len(branches))]
    if pa.types.is_struct(kind) and [field.name for field in kind] == names:
        found = [
            Branch(encoder_of(branch, field.type, f"{where}.{field.name}"), number_of(union, branch), None)
            for branch, field in zip(branches, kind, strict=True)
        ]
        return Members(tuple(found), absent)
    raise ConfigurationError(
        f"column {where} is {kind}, which the Avro schema has as a union of several types: cast it to one of them, or "
        f"to a struct of {', '.join(names)}, one of which has a value"
    )

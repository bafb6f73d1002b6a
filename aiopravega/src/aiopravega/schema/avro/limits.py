"""Types of Avro that columns, such as Spark's, cannot hold, although single events can be read.

A limit is not a fault of a schema and harms no other reader. So it becomes a finding on request only, with a rule that
begins with `column-`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from aiopravega.schema.avro import model as avro
from aiopravega.schema.avro import plan
from aiopravega.schema.policy.findings import ABSENT, Finding

MOST_DIGITS: Final = 38  # of Arrow's decimals of 128 bits, and of Spark's
MOST_LEVELS: Final = 60  # of columns inside columns; Arrow sends no more than 64
_RAW: Final = "read the events raw or one by one"


@dataclass(frozen=True, slots=True)
class Limit:
    """One type that columns cannot hold; `remedy` is a change of the schema that helps."""

    path: str
    rule: str
    type: avro.AvroType
    problem: str
    remedy: str


def limits_of(schema: avro.AvroType, path: str) -> Iterator[Limit]:
    """The types of a reader's schema that cannot be columns."""
    yield from _limits(schema, path, (), 0, skipped=False)


def written_limits(step: plan.Step, path: str) -> Iterator[Limit]:
    """The types that column readers cannot skip in a writer's data, beside the limits of the reader's schema."""
    yield from _written(step, path, set())


def column_findings(reader: avro.AvroType, step: plan.Step) -> list[Finding]:
    """The limits of a reader's schema, and of a plan that reads with it, as the compatibility check reports them."""
    path = avro.label_of(reader)
    findings = [_finding(limit, avro.source_of(limit.type), ABSENT) for limit in limits_of(reader, path)]
    return findings + [_finding(limit, ABSENT, avro.source_of(limit.type)) for limit in written_limits(step, path)]


def _finding(limit: Limit, reader: str, writer: str) -> Finding:
    remedy = f"{limit.problem}: {limit.remedy}, or {_RAW}"
    return Finding(limit.path, limit.rule, reader, writer, remedy, remedy)


def _limits(
    schema: avro.AvroType, path: str, around: tuple[avro.Record, ...], levels: int, *, skipped: bool
) -> Iterator[Limit]:
    """The limits of a type inside some records; for a type that is only skipped, digits are not limited."""
    if levels > MOST_LEVELS:
        problem = f"{path} is nested more than {MOST_LEVELS} levels deep, and columns are not"
        yield Limit(path, "column-nesting", schema, problem, "nest it less")
        return
    match schema:
        case avro.Primitive(_, "decimal", precision) | avro.Fixed(_, _, "decimal", precision) if not skipped:
            if precision > MOST_DIGITS:
                problem = f"{path} is a {avro.DECIMAL} of {precision} digits, and a column has {MOST_DIGITS} at most"
                yield Limit(path, "column-digits", schema, problem, f"give it {MOST_DIGITS} digits")
        case avro.Sequence(items):
            if avro.takes_no_bytes(items, ()):
                yield _endless(schema, path)
            yield from _limits(items, f"{path}[]", around, levels + 1, skipped=skipped)
        case avro.Mapping(values):
            yield from _limits(values, f"{path}{{}}", around, levels + 1, skipped=skipped)
        case avro.Union(branches):
            for branch in branches:
                yield from _limits(branch, path, around, levels + 1, skipped=skipped)
        case avro.Record(name, fields):
            if schema in around:
                problem = f"{path} is a {name}, which contains itself, and a column has an end"
                yield Limit(path, "column-recursion", schema, problem, "spell out as many levels as there are")
                return
            for field in fields:
                yield from _limits(field.type, f"{path}.{field.name}", (*around, schema), levels + 1, skipped=skipped)


def _written(step: plan.Step, path: str, seen: set[int]) -> Iterator[Limit]:
    match step:
        case plan.ReadItems(reader, items):
            if _reads_no_bytes(items, ()) and not avro.takes_no_bytes(reader.items, ()):
                yield _endless(reader, path)
            yield from _written(items, f"{path}[]", seen)
        case plan.ReadEntries(_, values):
            yield from _written(values, f"{path}{{}}", seen)
        case plan.ReadBranches(_, branches):
            for branch in branches:
                yield from _written(branch, path, seen)
        case plan.IntoBranch(_, _, inner):
            yield from _written(inner, path, seen)
        case plan.ReadRecord(writer) if id(step) not in seen:
            seen.add(id(step))
            for field, source in zip(step.written, writer.fields, strict=False):
                at = f"{path}.{source.name}"
                if isinstance(field, plan.ReadField):
                    yield from _written(field.step, at, seen)
                else:
                    yield from _limits(field.type, at, (), 0, skipped=True)


def _endless(schema: avro.Sequence, path: str) -> Limit:
    problem = f"{path} is an array of items without content, which has no end"
    return Limit(path, "column-endless", schema, problem, "count them in a long")


def _reads_no_bytes(step: plan.Step, around: tuple[plan.ReadRecord, ...]) -> bool:
    match step:
        case plan.ReadPrimitive(writer) | plan.ReadFixed(writer):
            return avro.takes_no_bytes(writer, ())
        case plan.IntoBranch(_, _, inner):
            return _reads_no_bytes(inner, around)
        case plan.ReadRecord():
            return step in around or all(_field_reads_no_bytes(field, (*around, step)) for field in step.written)
    return False


def _field_reads_no_bytes(field: plan.ReadField | plan.SkipField, around: tuple[plan.ReadRecord, ...]) -> bool:
    return (
        avro.takes_no_bytes(field.type, ())
        if isinstance(field, plan.SkipField)
        else _reads_no_bytes(field.step, around)
    )

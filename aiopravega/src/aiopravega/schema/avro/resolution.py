"""Avro's schema resolution: how data of a writer's schema is read with a reader's, and where it cannot be.

The rules are those of the section "Schema Resolution" of Avro's specification, written once: one walk gives the plan
that readers follow and the findings that the compatibility check reports. It is stricter than the specification where
readers would go wrong in silence: a logical type that became another one, and an alias that fits more than one field.
There, and where only a name differs, the plan still reads what has one meaning: findings are for those who can still
change a schema.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from aiopravega.schema.avro.matching import family, full_name, may_read, mismatch, same_name
from aiopravega.schema.avro.model import (
    DECIMAL,
    UNDERLYING,
    AvroType,
    Enumeration,
    Field,
    Fixed,
    Mapping,
    Named,
    Primitive,
    Record,
    Sequence,
    Union,
    kind_of,
    label_of,
    logical_of,
    source_of,
)
from aiopravega.schema.avro.plan import (
    IntoBranch,
    ReadBranches,
    ReadEntries,
    ReadField,
    ReadFixed,
    ReadItems,
    ReadPrimitive,
    ReadRecord,
    ReadSymbol,
    SkipField,
    Step,
    Unreadable,
    problem_of,
)
from aiopravega.schema.policy.findings import ABSENT, Finding

# A logical type that is no other view of every value of its type: not every text is a UUID, nor every number a time of
# day.
_DEMANDING: Final = frozenset({"uuid", DECIMAL, "big-decimal", "time-millis", "time-micros"})
_BINARY: Final = frozenset({DECIMAL, "big-decimal"})  # their bytes are not text


@dataclass(frozen=True, slots=True)
class Resolution:
    """How a writer's data is read, and all that is wrong with it; where nothing is, all of it can be read."""

    step: Step
    findings: tuple[Finding, ...]


def resolve(reader: AvroType, writer: AvroType) -> Resolution:
    """The plan of reading data of a writer's schema with a reader's, and the findings."""
    resolver = _Resolver()
    step = resolver.step(reader, writer, label_of(reader))
    return Resolution(step, tuple(resolver.findings))


class _Resolver:
    def __init__(self) -> None:
        self.findings: list[Finding] = []
        # Records can contain themselves: each pair of records is resolved once.
        self._records: dict[tuple[int, int], tuple[ReadRecord, list[Finding]]] = {}

    def step(self, reader: AvroType, writer: AvroType, path: str) -> Step:
        if isinstance(writer, Union):
            return ReadBranches(
                reader, tuple(self._written(reader, writer, branch, path) for branch in writer.branches)
            )
        if isinstance(reader, Union):
            return self._into_union(reader, writer, path)
        if kind_of(reader) == kind_of(writer):
            self._check_name(reader, writer, path)
            return self._same_kind(reader, writer, path)
        if isinstance(reader, Primitive) and isinstance(writer, Primitive) and may_read(reader, writer):
            return self._primitive(reader, writer, path)
        remedy = f"read {label_of(writer)} as {label_of(writer)}, or as a union that has both"
        keep = f"keep {label_of(reader)}; for {label_of(writer)} add a new field"
        self._add(path, "type-changed", reader, writer, remedy, keep)
        return Unreadable(writer, reader, mismatch(reader, writer, path))

    def _written(self, reader: AvroType, writer: Union, branch: AvroType, path: str) -> Step:
        if isinstance(reader, Union) or may_read(reader, branch):
            return self.step(reader, branch, path)
        self._add_missing_branch(reader, writer, branch, path)
        if kind_of(reader) != kind_of(branch):
            return Unreadable(branch, reader, mismatch(reader, branch, path))
        with self._unheard():
            return self._same_kind(reader, branch, path)

    def _into_union(self, reader: Union, writer: AvroType, path: str) -> Step:
        kinds = [index for index, branch in enumerate(reader.branches) if kind_of(branch) == kind_of(writer)]
        named = [index for index in kinds if same_name(reader.branches[index], writer)]
        # The full name decides between two types of one name, and a type of the same kind comes before a wider one.
        named.sort(key=lambda index: full_name(reader.branches[index]) != full_name(writer))
        wider = [index for index, branch in enumerate(reader.branches) if may_read(branch, writer)]
        if named or wider:
            return self._best(reader, writer, named or wider[:1], path)
        self._add_missing_branch(reader, writer, writer, path)
        with self._unheard():
            return self._best(reader, writer, kinds, path)

    def _best(self, reader: Union, writer: AvroType, candidates: list[int], path: str) -> Step:
        """Into the first branch with which nothing is wrong, or else into the first that can be read at all."""
        before = len(self.findings)
        first: tuple[Step, list[Finding]] | None = None
        for index in candidates:
            step = self.step(reader.branches[index], writer, path)
            found = self.findings[before:]
            del self.findings[before:]
            made = (
                Unreadable(writer, reader, problem)
                if (problem := problem_of(step))
                else IntoBranch(reader, index, step)
            )
            if not found:
                return made
            if first is None or problem_of(first[0]):
                first = made, found
        if first is None:
            return Unreadable(writer, reader, mismatch(reader, writer, path))
        self.findings += first[1]
        return first[0]

    def _same_kind(self, reader: AvroType, writer: AvroType, path: str) -> Step:
        """Types of one kind, whatever their names are."""
        match reader, writer:
            case Primitive(), Primitive():
                return self._primitive(reader, writer, path)
            case Record(), Record():
                return self._record(reader, writer, path)
            case Enumeration(), Enumeration():
                return self._symbols(reader, writer, path)
            case Fixed(), Fixed():
                return self._fixed(reader, writer, path)
            case Sequence(items), Sequence(others):
                step = self.step(items, others, f"{path}[]")
                problem = problem_of(step)
                return Unreadable(writer, reader, problem) if problem else ReadItems(reader, step)
            case Mapping(values), Mapping(others):
                step = self.step(values, others, f"{path}{{}}")
                return (
                    Unreadable(writer, reader, problem) if (problem := problem_of(step)) else ReadEntries(reader, step)
                )
        raise AssertionError(f"{path}: {reader} and {writer} are not of one kind")

    def _primitive(self, reader: Primitive, writer: Primitive, path: str) -> Step:
        problem = self._logical_types(reader, writer, path)
        return Unreadable(writer, reader, problem) if problem else ReadPrimitive(writer, reader)

    def _fixed(self, reader: Fixed, writer: Fixed, path: str) -> Step:
        if reader.size != writer.size:
            keep = f"keep the size {reader.size}; for other sizes add a new type"
            self._add(path, "size-changed", reader, writer, f"keep the size {writer.size}", keep)
            return Unreadable(
                writer, reader, f"{path} is written with {writer.size} bytes, but read with {reader.size}"
            )
        problem = self._logical_types(reader, writer, path)
        return Unreadable(writer, reader, problem) if problem else ReadFixed(writer, reader)

    def _symbols(self, reader: Enumeration, writer: Enumeration, path: str) -> Step:
        unknown = [symbol for symbol in writer.symbols if symbol not in reader.symbols]
        if unknown and reader.default is None:
            names = ", ".join(unknown)
            texts = f"symbols {', '.join(reader.symbols)}", f"symbols {', '.join(writer.symbols)}"
            keep = f"keep {names}, or give the enum a default"
            wait = f"do not add {names} until all readers have an enum with a default"
            self.findings.append(Finding(path, "enum-symbols-missing", *texts, keep, wait))
        known = {symbol: symbol for symbol in reader.symbols}
        return ReadSymbol(reader, tuple(known.get(symbol, reader.default) for symbol in writer.symbols))

    def _record(self, reader: Record, writer: Record, path: str) -> ReadRecord:
        pair = id(reader), id(writer)
        if pair in self._records:
            made, found = self._records[pair]
            self.findings += [each for each in found if each not in self.findings]
            return made
        made, before = ReadRecord(writer, reader), len(self.findings)
        self._records[pair] = made, []
        steps, defaults = {}, []
        sources = self._sources(reader, writer, path)
        for index, field in enumerate(reader.fields):
            at = f"{path}.{field.name}"
            if field.name in sources:
                source = sources[field.name]
                steps[source.name] = ReadField(self.step(field.type, source.type, at), index)
                made.problem = made.problem or problem_of(steps[source.name].step)
            elif field.has_default:
                defaults.append(index)
            else:
                made.problem = made.problem or f"{at} is read, but not written, and has no default"
                give = f"give {field.name} a default, or an alias if it is a renamed field"
                keep = f"keep {field.name}: readers with the old schema have no default for it"
                self.findings.append(Finding(at, "field-without-default", source_of(field), ABSENT, give, keep))
        made.written = tuple(steps.get(field.name) or SkipField(field.type) for field in writer.fields)
        made.defaults = tuple(defaults)
        self._records[pair] = made, self.findings[before:]
        return made

    def _sources(self, reader: Record, writer: Record, path: str) -> dict[str, Field]:
        """The writer's field for each of the reader's that has one, by the reader's name."""
        written = {field.name: field for field in writer.fields}
        sources = {field.name: written[field.name] for field in reader.fields if field.name in written}
        used = set(sources)
        for field in reader.fields:
            aliases = [alias for alias in dict.fromkeys(field.aliases) if alias in written and alias != field.name]
            free = [alias for alias in aliases if alias not in used]
            if len(aliases) > len(free) or len(free) > (field.name not in sources):
                # Java's reader would rename the field, Java's check takes it twice or fails, others go by the name.
                names = ", ".join(aliases)
                drop = f"take the alias {names} from {field.name}: libraries differ on which field it stands for"
                keep = f"keep {field.name} and drop {names}: readers with the old schema know both names"
                at = f"{path}.{field.name}"
                texts = source_of(field), ", ".join(source_of(written[alias]) for alias in aliases)
                self.findings.append(Finding(at, "alias-ambiguous", *texts, drop, keep))
            if free and field.name not in sources:
                sources[field.name] = written[free[0]]
                used.add(free[0])
        return sources

    def _logical_types(self, reader: Primitive | Fixed, writer: Primitive | Fixed, path: str) -> str:
        """Why a logical type cannot be read as the other one; empty if it can."""
        if logical_of(reader) == logical_of(writer):
            return ""
        if not reader.logical:  # who knows no logical type reads the plain value
            if writer.logical in _BINARY and kind_of(reader) == "string":
                self._add(path, "logical-type-changed", reader, writer, "read it as bytes", "keep plain bytes")
            return ""
        if not writer.logical and reader.logical not in _DEMANDING:
            return ""
        was, now = logical_of(writer) or f"plain {kind_of(writer)}", logical_of(reader)
        self._add(path, "logical-type-changed", reader, writer, f"read it as {was}", f"keep {now}")
        if writer.logical == reader.logical == DECIMAL:
            if writer.scale == reader.scale:
                return ""
            return f"{path} is written with scale {writer.scale}, but read with scale {reader.scale}"
        both = writer.logical in UNDERLYING and reader.logical in UNDERLYING
        return mismatch(reader, writer, path) if both and family(writer) != family(reader) else ""

    def _check_name(self, reader: AvroType, writer: AvroType, path: str) -> None:
        if isinstance(reader, Named) and isinstance(writer, Named) and not same_name(reader, writer):
            name = f"name it {writer.name}, or add the alias {writer.name}"
            keep = f"name it {reader.name} as before: readers with the old schema know no other name"
            self._add(path, "name-changed", reader, writer, name, keep)

    def _add_missing_branch(self, reader: AvroType, writer: AvroType, branch: AvroType, path: str) -> None:
        label = label_of(branch)
        remedies = f"add {label} to the types of {path}", f"take {label} out of the types of {path}"
        self._add(path, "union-branch-missing", reader, writer, *remedies)

    def _add(
        self, path: str, rule: str, reader: AvroType, writer: AvroType, change_reader: str, change_writer: str
    ) -> None:
        texts = source_of(reader), source_of(writer)
        self.findings.append(Finding(path, rule, *texts, change_reader, change_writer))

    @contextmanager
    def _unheard(self) -> Iterator[None]:
        """What is found is not reported: a finding stands there already."""
        before = len(self.findings)
        yield
        del self.findings[before:]

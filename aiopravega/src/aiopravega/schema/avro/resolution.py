"""Avro's schema resolution: a plan of reading data of a writer's schema with a reader's, and findings.

The rules are in the section "Schema Resolution" of Avro's specification. They are written once: one walk gives the plan
that readers follow and the findings that the compatibility check reports. It is stricter than the specification where
readers would return wrong values silently: a logical type that became another one, and an alias that fits more than one
field. There, and where only a name differs, the plan still reads values with a single meaning: findings are for people
who can still change a schema.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from aiopravega.schema.avro import model as avro
from aiopravega.schema.avro import plan
from aiopravega.schema.avro.matching import family, full_name, may_read, mismatch, same_name
from aiopravega.schema.policy import ABSENT, Finding

# Logical types that not every value of their type can have: not every text is a UUID, nor every number a time of day.
_DEMANDING: Final = frozenset({"uuid", avro.DECIMAL, "big-decimal", "time-millis", "time-micros"})
_BINARY: Final = frozenset({avro.DECIMAL, "big-decimal"})  # their bytes are not text


@dataclass(frozen=True, slots=True)
class SchemaResolution:
    """The plan of reading a writer's data, and the findings; without findings, all of the data can be read."""

    step: plan.Step
    findings: tuple[Finding, ...]


def resolve(reader: avro.AvroType, writer: avro.AvroType) -> SchemaResolution:
    """The plan of reading data of a writer's schema with a reader's, and the findings."""
    resolver = _Resolver()
    step = resolver.step(reader, writer, avro.label_of(reader))
    return SchemaResolution(step, tuple(resolver.findings))


class _Resolver:
    def __init__(self) -> None:
        self.findings: list[Finding] = []
        # Records can contain themselves: each pair of records is resolved once.
        self._records: dict[tuple[int, int], tuple[plan.ReadRecord, list[Finding]]] = {}

    def step(self, reader: avro.AvroType, writer: avro.AvroType, path: str) -> plan.Step:
        if isinstance(writer, avro.Union):
            return plan.ReadBranches(
                reader, tuple(self._written(reader, writer, branch, path) for branch in writer.branches)
            )
        if isinstance(reader, avro.Union):
            return self._into_union(reader, writer, path)
        if avro.kind_of(reader) == avro.kind_of(writer):
            self._check_name(reader, writer, path)
            return self._same_kind(reader, writer, path)
        if isinstance(reader, avro.Primitive) and isinstance(writer, avro.Primitive) and may_read(reader, writer):
            return self._primitive(reader, writer, path)
        remedy = f"read {avro.label_of(writer)} as {avro.label_of(writer)}, or as a union that has both"
        keep = f"keep {avro.label_of(reader)}; for {avro.label_of(writer)} add a new field"
        self._add(path, "type-changed", reader, writer, remedy, keep)
        return plan.Unreadable(writer, reader, mismatch(reader, writer, path))

    def _written(self, reader: avro.AvroType, writer: avro.Union, branch: avro.AvroType, path: str) -> plan.Step:
        if isinstance(reader, avro.Union) or may_read(reader, branch):
            return self.step(reader, branch, path)
        self._add_missing_branch(reader, writer, branch, path)
        if avro.kind_of(reader) != avro.kind_of(branch):
            return plan.Unreadable(branch, reader, mismatch(reader, branch, path))
        with self._unheard():
            return self._same_kind(reader, branch, path)

    def _into_union(self, reader: avro.Union, writer: avro.AvroType, path: str) -> plan.Step:
        kinds = [index for index, branch in enumerate(reader.branches) if avro.kind_of(branch) == avro.kind_of(writer)]
        named = [index for index in kinds if same_name(reader.branches[index], writer)]
        # The full name decides between two types of one name, and a type of the same kind comes before a wider one.
        named.sort(key=lambda index: full_name(reader.branches[index]) != full_name(writer))
        wider = [index for index, branch in enumerate(reader.branches) if may_read(branch, writer)]
        if named or wider:
            return self._best(reader, writer, named or wider[:1], path)
        self._add_missing_branch(reader, writer, writer, path)
        with self._unheard():
            return self._best(reader, writer, kinds, path)

    def _best(self, reader: avro.Union, writer: avro.AvroType, candidates: list[int], path: str) -> plan.Step:
        """The step into the first branch without findings, or into the first that can be read at all."""
        before = len(self.findings)
        first: tuple[plan.Step, list[Finding]] | None = None
        for index in candidates:
            step = self.step(reader.branches[index], writer, path)
            findings = self.findings[before:]
            del self.findings[before:]
            made = (
                plan.Unreadable(writer, reader, problem)
                if (problem := plan.problem_of(step))
                else plan.IntoBranch(reader, index, step)
            )
            if not findings:
                return made
            if first is None or plan.problem_of(first[0]):
                first = made, findings
        if first is None:
            return plan.Unreadable(writer, reader, mismatch(reader, writer, path))
        self.findings += first[1]
        return first[0]

    def _same_kind(self, reader: avro.AvroType, writer: avro.AvroType, path: str) -> plan.Step:
        """The step between types of one kind; their names do not matter."""
        match reader, writer:
            case avro.Primitive(), avro.Primitive():
                return self._primitive(reader, writer, path)
            case avro.Record(), avro.Record():
                return self._record(reader, writer, path)
            case avro.Enumeration(), avro.Enumeration():
                return self._symbols(reader, writer, path)
            case avro.Fixed(), avro.Fixed():
                return self._fixed(reader, writer, path)
            case avro.Sequence(items), avro.Sequence(others):
                step = self.step(items, others, f"{path}[]")
                problem = plan.problem_of(step)
                return plan.Unreadable(writer, reader, problem) if problem else plan.ReadItems(reader, step)
            case avro.Mapping(values), avro.Mapping(others):
                step = self.step(values, others, f"{path}{{}}")
                return (
                    plan.Unreadable(writer, reader, problem)
                    if (problem := plan.problem_of(step))
                    else plan.ReadEntries(reader, step)
                )
        raise AssertionError(f"{path}: {reader} and {writer} are not of one kind")

    def _primitive(self, reader: avro.Primitive, writer: avro.Primitive, path: str) -> plan.Step:
        problem = self._logical_types(reader, writer, path)
        return plan.Unreadable(writer, reader, problem) if problem else plan.ReadPrimitive(writer, reader)

    def _fixed(self, reader: avro.Fixed, writer: avro.Fixed, path: str) -> plan.Step:
        if reader.size != writer.size:
            keep = f"keep the size {reader.size}; for other sizes add a new type"
            self._add(path, "size-changed", reader, writer, f"keep the size {writer.size}", keep)
            return plan.Unreadable(
                writer, reader, f"{path} is written with {writer.size} bytes, but read with {reader.size}"
            )
        problem = self._logical_types(reader, writer, path)
        return plan.Unreadable(writer, reader, problem) if problem else plan.ReadFixed(writer, reader)

    def _symbols(self, reader: avro.Enumeration, writer: avro.Enumeration, path: str) -> plan.Step:
        unknown = [symbol for symbol in writer.symbols if symbol not in reader.symbols]
        if unknown and reader.default is None:
            names = ", ".join(unknown)
            texts = f"symbols {', '.join(reader.symbols)}", f"symbols {', '.join(writer.symbols)}"
            keep = f"keep {names}, or give the enum a default"
            wait = f"do not add {names} until all readers have an enum with a default"
            self.findings.append(Finding(path, "enum-symbols-missing", *texts, keep, wait))
        known = {symbol: symbol for symbol in reader.symbols}
        return plan.ReadSymbol(reader, tuple(known.get(symbol, reader.default) for symbol in writer.symbols))

    def _record(self, reader: avro.Record, writer: avro.Record, path: str) -> plan.ReadRecord:
        pair = id(reader), id(writer)
        if pair in self._records:
            made, findings = self._records[pair]
            self.findings += [each for each in findings if each not in self.findings]
            return made
        made, before = plan.ReadRecord(writer, reader), len(self.findings)
        self._records[pair] = made, []
        steps, defaults = {}, []
        sources = self._sources(reader, writer, path)
        for index, field in enumerate(reader.fields):
            at = f"{path}.{field.name}"
            if field.name in sources:
                source = sources[field.name]
                steps[source.name] = plan.ReadField(self.step(field.type, source.type, at), index)
                made.problem = made.problem or plan.problem_of(steps[source.name].step)
            elif field.has_default:
                defaults.append(index)
            else:
                made.problem = made.problem or f"{at} is read, but not written, and has no default"
                give = f"give {field.name} a default, or an alias if it is a renamed field"
                keep = f"keep {field.name}: readers with the old schema have no default for it"
                self.findings.append(Finding(at, "field-without-default", avro.source_of(field), ABSENT, give, keep))
        made.written = tuple(steps.get(field.name) or plan.SkipField(field.type) for field in writer.fields)
        made.defaults = tuple(defaults)
        self._records[pair] = made, self.findings[before:]
        return made

    def _sources(self, reader: avro.Record, writer: avro.Record, path: str) -> dict[str, avro.RecordField]:
        """The writer's field for each of the reader's that has one, by the reader's name."""
        written = {field.name: field for field in writer.fields}
        sources = {field.name: written[field.name] for field in reader.fields if field.name in written}
        used = set(sources)
        for field in reader.fields:
            aliases = [alias for alias in dict.fromkeys(field.aliases) if alias in written and alias != field.name]
            free = [alias for alias in aliases if alias not in used]
            if len(aliases) > len(free) or len(free) > (field.name not in sources):
                # Java's reader would rename the field, Java's check uses it twice or fails, others go by the name.
                names = ", ".join(aliases)
                drop = f"take the alias {names} from {field.name}: libraries differ on which field it stands for"
                keep = f"keep {field.name} and drop {names}: readers with the old schema know both names"
                at = f"{path}.{field.name}"
                texts = avro.source_of(field), ", ".join(avro.source_of(written[alias]) for alias in aliases)
                self.findings.append(Finding(at, "alias-ambiguous", *texts, drop, keep))
            if free and field.name not in sources:
                sources[field.name] = written[free[0]]
                used.add(free[0])
        return sources

    def _logical_types(
        self, reader: avro.Primitive | avro.Fixed, writer: avro.Primitive | avro.Fixed, path: str
    ) -> str:
        """The reason for which a logical type cannot be read as the other one; empty if it can."""
        if avro.logical_of(reader) == avro.logical_of(writer):
            return ""
        if not reader.logical:  # a reader without a logical type reads the plain value
            if writer.logical in _BINARY and avro.kind_of(reader) == "string":
                self._add(path, "logical-type-changed", reader, writer, "read it as bytes", "keep plain bytes")
            return ""
        if not writer.logical and reader.logical not in _DEMANDING:
            return ""
        was, now = avro.logical_of(writer) or f"plain {avro.kind_of(writer)}", avro.logical_of(reader)
        self._add(path, "logical-type-changed", reader, writer, f"read it as {was}", f"keep {now}")
        if writer.logical == reader.logical == avro.DECIMAL:
            if writer.scale == reader.scale:
                return ""
            return f"{path} is written with scale {writer.scale}, but read with scale {reader.scale}"
        both = writer.logical in avro.UNDERLYING and reader.logical in avro.UNDERLYING
        return mismatch(reader, writer, path) if both and family(writer) != family(reader) else ""

    def _check_name(self, reader: avro.AvroType, writer: avro.AvroType, path: str) -> None:
        if isinstance(reader, avro.Named) and isinstance(writer, avro.Named) and not same_name(reader, writer):
            name = f"name it {writer.name}, or add the alias {writer.name}"
            keep = f"name it {reader.name} as before: readers with the old schema know no other name"
            self._add(path, "name-changed", reader, writer, name, keep)

    def _add_missing_branch(
        self, reader: avro.AvroType, writer: avro.AvroType, branch: avro.AvroType, path: str
    ) -> None:
        label = avro.label_of(branch)
        remedies = f"add {label} to the types of {path}", f"take {label} out of the types of {path}"
        self._add(path, "union-branch-missing", reader, writer, *remedies)

    def _add(
        self, path: str, rule: str, reader: avro.AvroType, writer: avro.AvroType, change_reader: str, change_writer: str
    ) -> None:
        texts = avro.source_of(reader), avro.source_of(writer)
        self.findings.append(Finding(path, rule, *texts, change_reader, change_writer))

    @contextmanager
    def _unheard(self) -> Iterator[None]:
        """Drop the findings of the block: the difference has been reported already."""
        before = len(self.findings)
        yield
        del self.findings[before:]

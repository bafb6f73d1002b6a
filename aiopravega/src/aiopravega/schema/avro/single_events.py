"""Single events by a plan of reading, with fastavro.

fastavro resolves schemas in its own way, so its resolution is not used. It gets one schema: the layout of the writer's,
with the names and logical types of the reader's. The rest (fields to drop or fill in, numbers to widen) is done with
the value afterwards, by an `Adapt`, if there is a rest. The module fastavro is an argument.
"""

import struct
from collections.abc import Callable
from copy import deepcopy
from datetime import UTC, datetime, time, timedelta
from io import BytesIO
from typing import Any, Final, NoReturn

from aiopravega.errors import ConfigurationError, MalformedEventError
from aiopravega.schema.avro import model as avro
from aiopravega.schema.avro import plan
from aiopravega.schema.avro.defaults import datum
from aiopravega.schema.avro.resolution import resolve

ReadValue = Callable[[BytesIO], Any]
Adapt = Callable[[Any], Any]
Shape = tuple[Any, Adapt | None]  # a schema for fastavro, and the rest of the work on its values

_PASSED: Final = {"int": "long", "string": "bytes"}  # types of the same layout that accept any bytes
_UNDERSTOOD: Final = frozenset({avro.DECIMAL, "uuid", "date", "time-millis", "time-micros"})  # besides timestamps
_NANOSECONDS: Final = {"millis": 1_000_000, "micros": 1_000, "nanos": 1}
# Microseconds of one unit, for plain numbers that are read as times of day.
_TIMES_OF_DAY: Final = {"time-millis": 1_000, "time-micros": 1}
_DAY: Final = timedelta(days=1)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SINGLE: Final = struct.Struct("<f")


def value_reader(reader: avro.AvroType, writer: avro.AvroType, fastavro: Any) -> ReadValue:
    """A function that reads the next value of the writer's schema as a value of the reader's.

    The function raises `MalformedEventError` for values that the reader's schema cannot hold, and fastavro's errors for
    bytes that are not a datum.
    """
    step = resolve(reader, writer).step
    if problem := plan.problem_of(step):
        return _refusing(f"its Avro schema does not fit the one that is read with: {problem}")
    shape, adapt = _Shapes(fastavro, same=reader is writer).of(step)
    is_record = isinstance(shape, dict) and shape["type"] == "record"
    if not is_record:  # fastavro parses a record once, but other types for each value
        shape = {"type": "record", "name": "top", "fields": [{"name": "value", "type": shape}]}
    parsed, read = fastavro.parse_schema(shape), fastavro.schemaless_reader
    if is_record:
        return (lambda source: read(source, parsed)) if adapt is None else lambda source: adapt(read(source, parsed))
    if adapt is None:
        return lambda source: read(source, parsed)["value"]
    return lambda source: adapt(read(source, parsed)["value"])


class _Shapes:
    """Makes the schema of one plan: named types have new names, fields have the reader's names."""

    def __init__(self, fastavro: Any, *, same: bool) -> None:
        self._fastavro = fastavro
        self._same = same  # read as it was written: no value is adapted
        self._count = 0
        self._steps: dict[int, tuple[str, Adapt | None]] = {}
        self._passed: dict[int, str] = {}

    def of(self, step: plan.Step) -> Shape:
        match step:
            case plan.ReadPrimitive(writer, reader):
                return _primitive(writer, reader)
            case plan.ReadFixed(_, reader):
                return self._fixed(reader.size, _logical(reader)), None
            case plan.ReadSymbol(_, symbols):
                return self._symbols(symbols)
            case plan.ReadItems(_, items):
                shape, adapt = self.of(items)
                return {"type": "array", "items": shape}, None if adapt is None else _each_item(adapt)
            case plan.ReadEntries(_, values):
                shape, adapt = self.of(values)
                return {"type": "map", "values": shape}, None if adapt is None else _each_value(adapt)
            case plan.ReadBranches(_, branches):
                return self._branches(branches)
            case plan.IntoBranch(_, _, inner):
                return self.of(inner)
            case plan.ReadRecord(writer) if step.problem:
                return self.passed(writer), _refusing(step.problem)
            case plan.ReadRecord():
                return self._record(step)
            case plan.Unreadable(writer, _, problem):
                return self.passed(writer), _refusing(problem)

    def passed(self, schema: avro.AvroType) -> Any:
        """The shape of a value that is skipped: only its end is read."""
        match schema:
            case avro.Primitive(kind):
                return _PASSED.get(kind, kind)
            case avro.Enumeration():
                return "long"
            case avro.Fixed(_, size):
                return self._fixed(size, {})
            case avro.Sequence(items):
                return {"type": "array", "items": self.passed(items)}
            case avro.Mapping(values):
                return {"type": "map", "values": self.passed(values)}
            case avro.Union(branches):
                return [self.passed(branch) for branch in branches]
            case avro.Record(_, fields):
                if id(schema) in self._passed:
                    return self._passed[id(schema)]
                self._passed[id(schema)] = name = self._name()
                return _shape_of_record(name, [(f"f{at}", self.passed(field.type)) for at, field in enumerate(fields)])

    def _name(self) -> str:
        self._count += 1
        return f"t{self._count}"

    def _fixed(self, size: int, logical: dict[str, Any]) -> dict[str, Any]:
        return {"type": "fixed", "name": self._name(), "size": size, **logical}

    def _symbols(self, symbols: tuple[str | None, ...]) -> Shape:
        if None not in symbols and len(set(symbols)) == len(symbols):
            return {"type": "enum", "name": self._name(), "symbols": list(symbols)}, None

        def symbol_of(index: int) -> str:
            symbol = symbols[index] if 0 <= index < len(symbols) else None
            if symbol is None:
                raise MalformedEventError("a symbol of an enumeration is not in the schema that is read with")
            return symbol

        return "long", symbol_of  # a long has the layout of a symbol's number

    def _branches(self, branches: tuple[plan.Step, ...]) -> Shape:
        shapes = [self.of(branch) for branch in branches]
        if all(adapt is None for _, adapt in shapes):
            return [shape for shape, _ in shapes], None
        # The branch is known by a record with one field around it, which adds no bytes.
        around = [_shape_of_record(self._name(), [(f"f{at}", shape)]) for at, (shape, _) in enumerate(shapes)]
        adapts = {f"f{at}": adapt for at, (_, adapt) in enumerate(shapes)}

        def adapt_branch(value: dict[str, Any]) -> Any:
            ((key, inner),) = value.items()
            adapt = adapts[key]
            return inner if adapt is None else adapt(inner)

        return around, adapt_branch

    def _record(self, step: plan.ReadRecord) -> Shape:
        if id(step) in self._steps:
            return self._steps[id(step)]
        name = self._name()
        adapts: dict[str, Adapt] = {}
        dropped: list[str] = []
        added = {field.name: self._default(field) for field in (step.reader.fields[index] for index in step.defaults)}

        def adapt_record(value: dict[str, Any]) -> dict[str, Any]:
            for key in dropped:
                del value[key]
            for key, adapt in adapts.items():
                value[key] = adapt(value[key])
            for key, make in added.items():
                value[key] = make()
            return value

        # A record inside itself is met again before it is known whether its values are adapted.
        self._steps[id(step)] = name, None if self._same else adapt_record
        names = {field.name for field in step.reader.fields}
        shapes = []
        for at, field in enumerate(step.written):
            if isinstance(field, plan.ReadField):
                key = step.reader.fields[field.index].name
                shape, adapt = self.of(field.step)
                if adapt is not None:
                    adapts[key] = adapt
            else:
                key, shape = f"dropped{at}", self.passed(field.type)
                while key in names:
                    key += "_"
                dropped.append(key)
            shapes.append((key, shape))
        adapt = adapt_record if dropped or adapts or added else None
        self._steps[id(step)] = name, adapt
        return _shape_of_record(name, shapes), adapt

    def _default(self, field: avro.RecordField) -> Callable[[], Any]:
        try:
            value = value_reader(field.type, field.type, self._fastavro)(BytesIO(datum(field.type, field.default)))
        except (ValueError, OverflowError) as error:  # such as a date after the year 9999
            raise ConfigurationError(
                f"the default {field.default!r} of field {field.name!r} has no value in Python: {error}. Read the "
                "events as columns, or change the default"
            ) from None
        return (lambda: deepcopy(value)) if isinstance(value, list | dict) else lambda: value


def _primitive(writer: avro.Primitive, reader: avro.Primitive) -> Shape:
    if writer.kind in ("int", "long") and reader.kind in ("float", "double"):
        return writer.kind, float if reader.kind == "double" else _single
    if writer.kind == "float":
        return "float", None
    was, now = writer.logical or "", reader.logical or ""
    if was != now and "timestamp-" in was and "timestamp-" in now:
        if "-nanos" in was + now:  # fastavro does not know nanoseconds
            return "long", _from_nanoseconds(was, now)
        return {"type": "long", "logicalType": was}, None
    if now in _TIMES_OF_DAY and not was:  # fastavro would make a time of any number
        return writer.kind, _time_of_day(_TIMES_OF_DAY[now])
    logical = _logical(reader)
    return {"type": reader.kind, **logical} if logical else reader.kind, None


def _logical(schema: avro.Primitive | avro.Fixed) -> dict[str, Any]:
    name = schema.logical or ""
    if name not in _UNDERSTOOD and "timestamp-" not in name:
        return {}
    digits = {"precision": schema.precision, "scale": schema.scale} if name == avro.DECIMAL else {}
    return {"logicalType": name, **digits}


def _shape_of_record(name: str, fields: list[tuple[str, Any]]) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": key, "type": shape} for key, shape in fields]}


def _each_item(adapt: Adapt) -> Adapt:
    return lambda values: [adapt(value) for value in values]


def _each_value(adapt: Adapt) -> Adapt:
    return lambda values: {key: adapt(value) for key, value in values.items()}


def _refusing(problem: str) -> Adapt:
    def refuse(_: Any) -> NoReturn:
        raise MalformedEventError(problem)

    return refuse


def _single(value: int) -> float:
    rounded: float = _SINGLE.unpack(_SINGLE.pack(value))[0]
    return rounded


def _time_of_day(factor: int) -> Adapt:
    def convert(value: int) -> time:
        since_midnight = timedelta(microseconds=value * factor)
        if not timedelta() <= since_midnight < _DAY:
            raise MalformedEventError(f"the number {value} is read as a time of day, but is not within one day")
        return (_EPOCH + since_midnight).time()

    return convert


def _from_nanoseconds(was: str, now: str) -> Adapt:
    factor = _NANOSECONDS[was.rpartition("-")[2]]
    if now.endswith("-nanos"):
        return lambda value: value * factor
    epoch = _EPOCH.replace(tzinfo=None) if now.startswith("local-") else _EPOCH
    return lambda value: epoch + timedelta(microseconds=value * factor // _NANOSECONDS["micros"])

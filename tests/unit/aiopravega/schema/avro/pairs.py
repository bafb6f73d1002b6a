"""Made-up Avro schemas in pairs: independent ones, and such as have evolved from each other."""

import copy
import json
from random import Random
from typing import Any

from aiopravega.errors import InvalidSchemaError
from aiopravega.schema.avro.parsing import parse

Json = Any
NAMES = ("A", "B", "C", "D")
FIELDS = ("a", "b", "c", "d")
SYMBOLS = ("RED", "BLUE", "GREEN")
PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "string", "bytes")
WIDER = {"int": ("long", "float", "double"), "long": ("float", "double"), "float": ("double",)}
LOGICAL: tuple[Json, ...] = (
    {"type": "int", "logicalType": "date"},
    {"type": "int", "logicalType": "time-millis"},
    {"type": "long", "logicalType": "time-micros"},
    {"type": "long", "logicalType": "timestamp-millis"},
    {"type": "long", "logicalType": "timestamp-micros"},
    {"type": "long", "logicalType": "local-timestamp-millis"},
    {"type": "string", "logicalType": "uuid"},
    {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
    {"type": "bytes", "logicalType": "decimal", "precision": 40, "scale": 2},
    {"type": "string", "logicalType": "date"},  # which means nothing there
)


def pair(seed: int) -> tuple[Json, Json]:
    """A writer's schema and a reader's, always the same ones of a seed."""
    rng = Random(seed)
    while True:
        writer = Maker(rng).schema()
        reader = evolved(rng, writer) if rng.random() < 0.75 else Maker(rng).schema()
        if rng.random() < 0.5:
            writer, reader = reader, writer
        if is_schema(writer) and is_schema(reader):
            return writer, reader


def is_schema(document: Json) -> bool:
    try:
        parse(json.dumps(document))
    except InvalidSchemaError:
        return False
    return True


class Maker:
    """Makes the types of one schema."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.free = list(NAMES)
        self.known: dict[str, Json] = {}  # complete named types, whose names can be used
        self.around: list[str] = []  # records that are not complete

    def schema(self) -> Json:
        """A record mostly, as the registry takes."""
        return self.record(3) if self.rng.random() < 0.85 else self.type(2)

    def type(self, depth: int) -> Json:
        rng = self.rng
        kinds = ["primitive"] * 4 + ["logical", "enum", "fixed", "known"]
        kinds += ["array", "map", "union", "union", "record", "around"] if depth else []
        match rng.choice(kinds):
            case "logical":
                return copy.deepcopy(rng.choice(LOGICAL))
            case "enum" if self.free:
                return self.enumeration()
            case "fixed" if self.free:
                return self.fixed()
            case "record" if self.free:
                return self.record(depth)
            case "known" if self.known:
                return rng.choice(list(self.known))
            case "array":
                return {"type": "array", "items": self.type(depth - 1)}
            case "map":
                return {"type": "map", "values": self.type(depth - 1)}
            case "union":
                return self.union(depth)
            case "around" if self.around:
                inside = rng.choice(self.around)
                return rng.choice([["null", inside], {"type": "array", "items": inside}])
        return rng.choice(PRIMITIVES)

    def name(self) -> str:
        return self.free.pop(self.rng.randrange(len(self.free)))

    def enumeration(self) -> Json:
        made: Json = {"type": "enum", "name": self.name(), "symbols": self.rng.sample(SYMBOLS, self.rng.randint(1, 3))}
        if self.rng.random() < 0.3:
            made["default"] = self.rng.choice(made["symbols"])
        self.known[made["name"]] = made
        return made

    def fixed(self) -> Json:
        made: Json = {"type": "fixed", "name": self.name(), "size": self.rng.randint(0, 5)}
        if made["size"] == 5:
            made |= {"logicalType": "decimal", "precision": 9, "scale": self.rng.randint(0, 2)}
        self.known[made["name"]] = made
        return made

    def union(self, depth: int) -> Json:
        branches: list[Json] = []
        for _ in range(self.rng.randint(0 if self.rng.random() < 0.1 else 1, 3)):
            branch = self.type(depth - 1)
            if not isinstance(branch, list) and _tag(branch) not in map(_tag, branches):
                branches.append(branch)
        return branches

    def record(self, depth: int) -> Json:
        made: Json = {"type": "record", "name": self.name(), "fields": []}
        self.around.append(made["name"])
        for name in self.rng.sample(FIELDS, self.rng.randint(1, 3)):
            made["fields"].append(self.field(name, depth - 1))
        self.around.remove(made["name"])
        self.known[made["name"]] = made
        return made

    def field(self, name: str, depth: int) -> Json:
        made = {"name": name, "type": self.type(depth)}
        if self.rng.random() < 0.4:
            self.give_default(made)
        if self.rng.random() < 0.15:
            made["aliases"] = [self.rng.choice(FIELDS)]
        return made

    def give_default(self, field: Json) -> None:
        try:
            field["default"] = self.default(field["type"])
        except LookupError:  # no value, or none that ends
            field.pop("default", None)

    def default(self, kind: Json) -> Json:
        rng = self.rng
        if isinstance(kind, list):
            return self.default(kind[0])
        if isinstance(kind, str) and kind not in PRIMITIVES:
            return self.default(self.known[kind])
        match kind if isinstance(kind, str) else kind["type"]:
            case "null":
                return None
            case "boolean":
                return rng.random() < 0.5
            case "int" | "long":
                return rng.choice([0, -7, 86_399_999])
            case "float" | "double":
                return rng.choice([0, 1.5, -2, 7, 0.1, "NaN" if rng.random() < 0.1 else 1])
            case "string" if isinstance(kind, dict) and kind.get("logicalType") == "uuid":
                return "12345678-1234-5678-1234-567812345678"
            case "string":
                return rng.choice(["", "text"])
            case "bytes":
                return rng.choice(["\x01", "\x07"])
            case "fixed":
                return "\x00" * kind["size"]
            case "enum":
                return rng.choice(kind["symbols"])
            case "array":
                return [] if rng.random() < 0.5 else [self.default(kind["items"])]
            case "map":
                return {} if rng.random() < 0.5 else {"k": self.default(kind["values"])}
        return {each["name"]: self.default(each["type"]) for each in kind["fields"] if "default" not in each}


def _tag(kind: Json) -> str:
    if isinstance(kind, str):
        return kind
    return str(kind.get("name", kind["type"]))


def evolved(rng: Random, schema: Json) -> Json:
    """A schema after some changes, of which each leaves a schema."""
    for _ in range(rng.randint(0, 3)):
        for _ in range(20):
            changed = _changed(rng, copy.deepcopy(schema))
            if is_schema(changed):
                schema = changed
                break
    return schema


def _changed(rng: Random, schema: Json) -> Json:
    holder = [schema]
    slots = list(_slots(holder, 0))
    where, key = rng.choice(slots)
    kind = where[key]
    maker = Maker(rng)
    maker.free = [f"New{rng.randrange(1000)}"]
    if isinstance(kind, dict) and kind["type"] == "record" and rng.random() < 0.8:
        _change_record(rng, maker, kind)
    elif isinstance(kind, dict) and "name" in kind:
        _change_named(rng, kind)
    elif isinstance(kind, list):
        _change_union(rng, maker, kind)
    else:
        where[key] = _other(rng, maker, kind)
    return holder[0]


def _slots(where: Json, key: Any) -> Any:
    """All parents of a type: what holds it, and by which key."""
    yield where, key
    kind = where[key]
    if isinstance(kind, list):
        for index in range(len(kind)):
            yield from _slots(kind, index)
    elif isinstance(kind, dict):
        for inner in ("items", "values"):
            if inner in kind:
                yield from _slots(kind, inner)
        for field in kind.get("fields", ()):
            yield from _slots(field, "type")


def _other(rng: Random, maker: Maker, kind: Json) -> Json:
    plain = kind if isinstance(kind, str) else kind["type"]
    choices = [
        ["null", kind],
        [kind, "null"],
        maker.type(1),
        rng.choice(PRIMITIVES),
        copy.deepcopy(rng.choice(LOGICAL)),
    ]
    choices += [wider for wider in WIDER.get(plain, ()) for _ in range(2)]
    choices += [other for one, other in (("string", "bytes"), ("bytes", "string")) if one == plain]
    choices += [plain] if plain in PRIMITIVES else []
    choices += [each for each in LOGICAL if each["type"] == plain]
    return rng.choice(choices)


def _change_union(rng: Random, maker: Maker, branches: list[Json]) -> None:
    match rng.choice(["add", "drop", "turn", "widen"]):
        case "add":
            branches.insert(rng.randint(0, len(branches)), maker.type(1))
        case "drop" if branches:
            branches.pop(rng.randrange(len(branches)))
        case "turn":
            rng.shuffle(branches)
        case "widen" if branches:
            index = rng.randrange(len(branches))
            branches[index] = _other(rng, maker, branches[index])


def _change_record(rng: Random, maker: Maker, record: Json) -> None:
    fields = record["fields"]
    names = [name for name in (*FIELDS, "e", "f") if name not in {field["name"] for field in fields}]
    field = rng.choice(fields)
    match rng.choice(["add", "drop", "rename", "alias", "default", "turn", "name", "name with alias", "twin"]):
        case "add" if names:
            fields.insert(rng.randint(0, len(fields)), maker.field(rng.choice(names), 1))
        case "twin" if names:
            twin = copy.deepcopy(field) | {"name": rng.choice(names), "aliases": [field["name"]]}
            maker.give_default(twin)
            fields.append(twin)
        case "drop" if len(fields) > 1:
            fields.remove(field)
        case "rename" if names:
            if rng.random() < 0.7:
                field["aliases"] = [field["name"]]
            field["name"] = rng.choice(names)
        case "alias":
            field["aliases"] = rng.sample(FIELDS, rng.randint(1, 2))
        case "default":
            maker.give_default(field)
        case "turn":
            rng.shuffle(fields)
        case "name":
            record["name"] = rng.choice([f"n.{record['name'].rpartition('.')[2]}", "Other"])
        case "name with alias":
            record["aliases"], record["name"] = [record["name"]], "Other"


def _change_named(rng: Random, kind: Json) -> None:
    match rng.choice(["content", "content", "default", "name", "name with alias"]):
        case "content" if "symbols" in kind:
            kind["symbols"] = rng.sample(SYMBOLS, rng.randint(1, 3))
            kind.pop("default", None)
        case "content" if "size" in kind:
            kind["size"] = rng.randint(0, 5)
            kind.pop("logicalType", None)
        case "default" if "symbols" in kind:
            kind["default"] = rng.choice(kind["symbols"])
        case "name":
            kind["name"] = rng.choice([f"n.{kind['name'].rpartition('.')[2]}", "Other"])
        case "name with alias":
            kind["aliases"], kind["name"] = [kind["name"]], "Other"

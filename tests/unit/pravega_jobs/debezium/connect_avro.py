"""Connect's schemas and values as Avro, as Kafka Connect's Avro converters (`AvroData`) write them."""

import base64
from io import BytesIO

import fastavro

PRIMITIVES = {
    "int8": "int",
    "int16": "int",
    "int32": "int",
    "int64": "long",
    "float": "float",
    "float32": "float",
    "double": "double",
    "float64": "double",
    "boolean": "boolean",
    "string": "string",
    "bytes": "bytes",
}
LOGICAL = {
    "org.apache.kafka.connect.data.Decimal": "decimal",
    "org.apache.kafka.connect.data.Date": "date",
    "org.apache.kafka.connect.data.Time": "time-millis",
    "org.apache.kafka.connect.data.Timestamp": "timestamp-millis",
}
DEFAULT_DIGITS = 64


def avro_of(connect, names=None):
    """The Avro schema of one of Connect's."""
    names = {} if names is None else names
    found = _plain(connect, names)
    if not connect.get("optional"):
        return found
    return ["null", found]


def _plain(connect, names):
    kind, name, parameters = connect["type"], connect.get("name"), connect.get("parameters") or {}
    more = {"connect.name": name, "connect.version": connect.get("version"), "connect.parameters": parameters}
    more = {key: value for key, value in more.items() if value}
    if kind == "struct":
        full = name or f"ConnectDefault{len(names)}"
        if full in names:
            return full
        names[full] = True
        fields = [{"name": one["field"], "type": avro_of(one, names)} for one in connect["fields"]]
        for one in fields:
            if isinstance(one["type"], list):
                one["default"] = None
        return {"type": "record", "name": full, "fields": fields, **more}
    if kind == "array":
        return {"type": "array", "items": avro_of(connect["items"], names), **more}
    if kind in ("int8", "int16"):
        more["connect.type"] = kind
    if name in LOGICAL:
        more["logicalType"] = LOGICAL[name]
        if LOGICAL[name] == "decimal":
            more["scale"] = int(parameters.get("scale", 0))
            more["precision"] = int(parameters.get("connect.decimal.precision", DEFAULT_DIGITS))
    avro = PRIMITIVES[kind]
    return {"type": avro, **more} if more else avro


def bare(schema):
    """Without logical types: the values are given as they lie."""
    if isinstance(schema, dict):
        return {key: bare(value) for key, value in schema.items() if key != "logicalType"}
    return [bare(one) for one in schema] if isinstance(schema, list) else schema


def value_of(connect, value):
    """A value of Connect's JSON, as fastavro takes it."""
    if value is None:
        return None
    match connect["type"]:
        case "struct":
            return {one["field"]: value_of(one, value.get(one["field"])) for one in connect["fields"]}
        case "array":
            return [value_of(connect["items"], item) for item in value]
        case "bytes":
            return base64.b64decode(value)
        case "float" | "double" | "float32" | "float64":
            return float(value)
    return value


def datum_of(connect, value, schema):
    """The bytes of an event."""
    out = BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(bare(schema)), value_of(connect, value))
    return out.getvalue()

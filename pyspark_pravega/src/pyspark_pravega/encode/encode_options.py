"""Options of encoding, read once and checked before any work starts."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Self

from aiopravega.errors import ConfigurationError
from aiopravega.schema.json.columns.forms import TO_JSON, JsonDecimals, JsonForm, TimestampFormat
from aiopravega.schema.registry.codecs import GZIP, LZ4, NONE, SNAPPY
from pravega_jobs.decoding.option_texts import Options, choice
from pravega_jobs.decoding.options import ENCODE, SCHEMA_OPTIONS, WITH_SCHEMAS, Format, SchemaOptions
from pravega_jobs.spark.options import JSON_DECIMALS_OPTION, JSON_OPTIONS, TIMESTAMP_FORMAT_OPTION

if TYPE_CHECKING:
    from pravega_jobs.debezium.changes.options import WrittenChanges


_REGISTER: Final = "schema_register"
_NEW_POLICY: Final = "new_policy"
_DECLARED_ONLY: Final = "declared_only"
_CODEC: Final = "codec"
ENCODE_OPTIONS: Final = (
    ENCODE,
    WITH_SCHEMAS,
    _REGISTER,
    _NEW_POLICY,
    _DECLARED_ONLY,
    _CODEC,
    *JSON_OPTIONS,
    *SCHEMA_OPTIONS,
)
_NOT_OF_CHANGES: Final = tuple(
    name for name in ENCODE_OPTIONS if name not in (ENCODE, WITH_SCHEMAS, SCHEMA_OPTIONS[0], SCHEMA_OPTIONS[1])
)
# Short words for the registry's names of codecs; another word is the name of a codec that was registered.
_CODECS: Final = {"none": NONE, "gzip": GZIP, "snappy": SNAPPY, "lz4": LZ4}


@dataclass(frozen=True, slots=True)
class EncodeOptions:
    """The options by which columns become events; with the format raw, a column has the events.

    `register` allows to add a missing group, schema or codec to the registry. `new_policy` is the policy of a new group
    (None: the default); `declared_only` is for the comparison of JSON schemas; `codec` is the registry's name of a
    codec. `changes` is for change events only, `texts` for JSON.
    """

    format: Format = Format.RAW
    schema: SchemaOptions = field(default_factory=SchemaOptions)
    register: bool = True
    codec: str = NONE
    new_policy: str | None = None
    declared_only: bool = False
    changes: "WrittenChanges | None" = None
    texts: JsonForm = TO_JSON

    @classmethod
    def parse(cls, given: Options, decodes: bool) -> Self:
        """Read the options of encoding; if `decodes`, the options of schemas may be for a read.

        Raises:
            ConfigurationError: an option cannot work, or has no effect.
        """
        form = choice(given, ENCODE, Format, Format.RAW)
        if form is Format.AUTO:
            raise ConfigurationError(
                f"option {ENCODE!r} is 'auto', but a write has to say: json, avro, protobuf or debezium-json"
            )
        if form in (Format.DEBEZIUM_AVRO, Format.DEBEZIUM_PROTOBUF, Format.CANAL):
            raise ConfigurationError(
                f"change events are written as Debezium's JSON: encode={Format.DEBEZIUM}, not encode={form}"
            )
        if form is Format.DEBEZIUM:
            # Imported here: a process that copies raw events does not load the modules of change events.
            from pyspark_pravega.encode.written_changes import check_idle, written_changes

            if not decodes:
                check_idle(given, _NOT_OF_CHANGES)
            return cls(form, SchemaOptions(SchemaOptions.parse(given).schema), changes=written_changes(given))
        if given.flag(WITH_SCHEMAS, False):
            raise ConfigurationError(f"option {WITH_SCHEMAS!r} is for encode={Format.DEBEZIUM}, not for encode={form}")
        if form is Format.RAW:
            idle = [name for name in ENCODE_OPTIONS if name != ENCODE and given.text(name)]
            if idle and not decodes:
                raise ConfigurationError(
                    f"option {idle[0]!r} is for events that are encoded: give option {ENCODE!r} (json, avro, "
                    "protobuf or debezium-json), or leave it out"
                )
            return cls()
        schema = SchemaOptions.parse(given)
        name = given.text(_CODEC) or "none"
        codec = _CODECS.get(name.lower(), name)
        if codec != NONE and schema.registry is None:
            raise ConfigurationError(
                f"option {_CODEC!r} is {name!r}, but only the header of a Schema Registry says that events are "
                "compressed, and readers need it: give option 'schema_registry_uri'"
            )
        register, declared_only = given.flag(_REGISTER, True), given.flag(_DECLARED_ONLY, False)
        return cls(form, schema, register, codec, given.text(_NEW_POLICY), declared_only, texts=_texts(given, form))


def _texts(given: Options, form: Format) -> JsonForm:
    for name in JSON_OPTIONS:
        if given.text(name) and form is not Format.JSON:
            raise ConfigurationError(f"option {name!r} is for encode={Format.JSON}, not for encode={form}")
    return JsonForm(
        choice(given, TIMESTAMP_FORMAT_OPTION, TimestampFormat, TimestampFormat.ISO),
        choice(given, JSON_DECIMALS_OPTION, JsonDecimals, JsonDecimals.NUMBER),
    )

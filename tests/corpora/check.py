"""Checks of many schemas that others wrote: what holds for each of them, and for each pair of versions in a folder."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import permutations
from pathlib import Path
from typing import Any

from aiopravega.catalog.columns import columns_of
from aiopravega.errors import ConfigurationError, InvalidSchemaError, MalformedEventError
from aiopravega.gates.candidates import from_file
from aiopravega.gates.candidates.files import SUFFIXES
from aiopravega.schema import Compatibility, SchemaFormat, SchemaInfo, SchemaVersion, VersionInfo
from aiopravega.schema.open import check
from aiopravega.schema.open.blocks.fields import field_columns
from aiopravega.schema.serializers import JsonFormat

EXAMPLES = ".examples.json"


@dataclass
class Counts:
    """The result: schemas that were read, those that are refused with the reason, and what is wrong."""

    schemas: int = 0
    pairs: int = 0
    examples: int = 0
    refused: dict[str, str] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)


def check_folder(folder: Path) -> Counts:
    """Check all schemas below a folder. Files of one folder count as versions of one schema.

    Beside `order.json`, a file `order.json.examples.json` has a list of values: JSON Schema only.
    """
    counts = Counts()
    by_folder: dict[Path, list[tuple[Path, SchemaInfo]]] = {}
    for file in sorted(folder.rglob("*")):
        if not file.is_file() or file.suffix not in SUFFIXES or file.name.endswith(EXAMPLES):
            continue
        try:
            schema = from_file(file, file.stem if file.suffix == ".json" else None, [folder])
            check_alone(schema)
        except (ConfigurationError, InvalidSchemaError) as error:
            counts.refused[str(file)] = str(error)
        except Exception as error:  # noqa: BLE001  # any other error is a fault of ours
            counts.faults.append(f"{file}: {error!r}")
        else:
            counts.schemas += 1
            counts.faults += [f"{file}: {fault}" for fault in faults_alone(schema)]
            by_folder.setdefault(file.parent, []).append((file, schema))
    for versions in by_folder.values():
        _check_pairs(versions, counts)
    return counts


def check_alone(schema: SchemaInfo) -> None:
    """Compare a schema with itself, so that one that is no schema is refused here."""
    is_compatible(schema, schema)


def is_compatible(old: SchemaInfo, new: SchemaInfo) -> bool:
    """True if a reader with the new schema reads what was written with the old one, as far as is known."""
    info = VersionInfo(type=old.type, serialization_format=old.format.value, version=0, id=0)
    return check(new, [SchemaVersion(schema_info=old, version_info=info)], Compatibility(policy="Backward")).compatible


def faults_alone(schema: SchemaInfo) -> Iterator[str]:
    """The faults of one schema: it is compatible with itself, and each field is a column or has a reason."""
    if not is_compatible(schema, schema):
        yield "it is not compatible with itself"
    try:
        found = {one.name: one for one in field_columns(schema)}
    except ConfigurationError:
        return  # the reason is not in a field
    for column in columns_of(schema):
        one = found.get(column.name)
        if one is None or (one.type is None and not one.reason):
            yield f"its field {column.name} is no column, and has no reason"


def _check_pairs(versions: list[tuple[Path, SchemaInfo]], counts: Counts) -> None:
    for (old_file, old), (new_file, new) in permutations(versions, 2):
        if old.format is not new.format or old.format is not SchemaFormat.JSON:
            continue
        counts.pairs += 1
        examples = _examples(old_file)
        if not examples or not is_compatible(old, new.model_copy(update={"type": old.type})):
            continue
        for value in examples:
            if _is_valid(old, value):
                counts.examples += 1
                if not _is_valid(new, value):
                    counts.faults.append(f"{new_file} is compatible with {old_file}, but refuses {json.dumps(value)}")


def _examples(file: Path) -> list[Any]:
    beside = file.with_name(file.name + EXAMPLES)
    found: list[Any] = json.loads(beside.read_text()) if beside.exists() else []
    return found


def _is_valid(schema: SchemaInfo, value: Any) -> bool:
    try:
        JsonFormat(schema.text, schema.type, validate=True).reader()(json.dumps(value).encode())
    except MalformedEventError:
        return False
    return True

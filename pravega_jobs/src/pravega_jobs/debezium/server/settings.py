"""Rules of Debezium Server's settings: which of them lose or spoil data, or stop Debezium, in front of Pravega.

The effect of each setting was seen with Debezium Server 3.0 (docs/how-to/set-up-debezium.md). A setting that is not
given has Debezium's default. Jobs name a file on their machine, which `settings_of_file` reads. Nothing here sends
requests.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from aiopravega.errors import ConfigurationError
from pravega_jobs.debezium.changes.options import UNAVAILABLE
from pravega_jobs.debezium.server.properties import read_properties

_SOURCE: Final = "debezium.source."
_SINK: Final = "debezium.sink.pravega."
_PLACEHOLDER: Final = f"{_SOURCE}unavailable.value.placeholder"
_UNSIGNED: Final = ("mysql", "mariadb")
_LONGEST: Final = 1_000_000  # bytes of a file of settings


class Harm(StrEnum):
    """The harm that a setting does."""

    LOSES = "loses data"
    SPOILS = "spoils data"
    STOPS = "stops Debezium"
    BREAKS = "breaks the application"
    HIDES = "hides values"
    DOUBLES = "doubles events"


@dataclass(frozen=True, slots=True)
class SettingFinding:
    """A harmful setting: its name, its value (None: not given), the harm, the reason, and a better value."""

    setting: str
    value: str | None
    harm: Harm
    why: str
    instead: str

    def __str__(self) -> str:
        given = "is not given" if self.value is None else f"is {self.value}"
        return f"{self.setting} {given}: {self.harm.value}. {self.why}. Set {self.instead}"


@dataclass(frozen=True, slots=True)
class _Rule:
    setting: str
    by_default: str
    is_good: Callable[[str], bool]
    harm: Harm
    why: str
    instead: str


def _is(*values: str) -> Callable[[str], bool]:
    return lambda value: value.strip().lower() in values


_RULES: Final = (
    _Rule(
        f"{_SOURCE}tombstones.on.delete", "true", _is("false"), Harm.LOSES,
        "Pravega's sink stops at the first deleted row, and with its transactions it loses events then", "false",
    ),
    _Rule(
        f"{_SOURCE}skipped.operations", "t", lambda value: "t" not in _list(value), Harm.LOSES,
        "a table that is truncated keeps its rows downstream", "none",
    ),
    _Rule(
        f"{_SINK}transaction", "false", _is("false"), Harm.LOSES,
        "events of a batch that fails are marked as done before their transaction commits", "false",
    ),
    _Rule(
        _PLACEHOLDER, UNAVAILABLE, lambda value: value == UNAVAILABLE, Harm.SPOILS,
        "large values that a change has not touched arrive as this text, and pass as data in reads that do not know it",
        f"{UNAVAILABLE}, or give each read of the events option unavailable_placeholder with this text",
    ),
    _Rule(
        f"{_SOURCE}offset.flush.interval.ms", "60000", _is("0"), Harm.DOUBLES,
        "after a kill, all events since the last flush are written again", "0",
    ),
)  # fmt: skip
_KEY_SCHEMAS: Final = ("debezium.format.key.schemas.enable", "debezium.format.schemas.enable")


def check_settings(settings: Mapping[str, str]) -> list[SettingFinding]:
    """All settings of Debezium Server that do harm in front of Pravega.

    Args:
        settings: from `read_properties`.

    Raises:
        ConfigurationError: the settings are not for Pravega's sink.
    """
    sink = settings.get("debezium.sink.type")
    if sink != "pravega":
        raise ConfigurationError(f"debezium.sink.type is {sink!r}, but must be 'pravega': these are not its settings")
    findings = [
        SettingFinding(rule.setting, settings.get(rule.setting), rule.harm, rule.why, rule.instead)
        for rule in _RULES
        if not rule.is_good(settings.get(rule.setting, rule.by_default))
    ]
    return findings + _keys(settings) + _flattened(settings) + _values(settings)


def _keys(settings: Mapping[str, str]) -> list[SettingFinding]:
    findings = []
    given = next((name for name in _KEY_SCHEMAS if name in settings), None)
    if given is None or settings[given].strip().lower() != "false":
        why = (
            "the routing key has the key's schema, so that a change of it moves a row to another segment, out of order"
        )
        name = given or _KEY_SCHEMAS[0]
        findings.append(SettingFinding(name, settings.get(name), Harm.SPOILS, why, f"{_KEY_SCHEMAS[0]}=false"))
    form = settings.get("debezium.format.key")
    if form is not None and form.strip().lower() != "json":
        why = "the sink makes a routing key of text only"
        findings.append(SettingFinding("debezium.format.key", form, Harm.STOPS, why, "json"))
    return findings


def _flattened(settings: Mapping[str, str]) -> list[SettingFinding]:
    names = _list(settings.get("debezium.transforms", ""), keep_case=True)
    kinds = {f"debezium.transforms.{name}.type": settings.get(f"debezium.transforms.{name}.type") for name in names}
    why = "flattened events lose deletes, and are refused when they are read"
    return [
        SettingFinding(setting, kind, Harm.LOSES, why, "no such transform")
        for setting, kind in kinds.items()
        if kind is not None and kind.endswith("ExtractNewRecordState")
    ]


def _values(settings: Mapping[str, str]) -> list[SettingFinding]:
    connector = settings.get(f"{_SOURCE}connector.class", "").lower()
    findings = []
    unsigned = f"{_SOURCE}bigint.unsigned.handling.mode"
    if any(each in connector for each in _UNSIGNED) and settings.get(unsigned, "long") != "precise":
        why = "18446744073709551615 arrives as -1"
        findings.append(SettingFinding(unsigned, settings.get(unsigned), Harm.SPOILS, why, "precise"))
    encryption = f"{_SOURCE}database.ssl.mode"
    if "mariadb" in connector and settings.get(encryption, "preferred") == "preferred":
        why = "the driver of MariaDB refuses `preferred`, which is Debezium's own value, and Debezium ends"
        instead = "disabled, required, verify_ca or verify_identity"
        findings.append(SettingFinding(encryption, settings.get(encryption), Harm.STOPS, why, instead))
    decimals = f"{_SOURCE}decimal.handling.mode"
    if "postgres" in connector and settings.get(decimals, "precise") == "precise":
        why = "NaN in a numeric column arrives as null"
        findings.append(SettingFinding(decimals, settings.get(decimals), Harm.SPOILS, why, "string"))
    return findings


def _list(text: str, *, keep_case: bool = False) -> list[str]:
    return [each if keep_case else each.lower() for each in map(str.strip, text.split(",")) if each]


def settings_of_file(path: str | Path) -> dict[str, str]:
    """The settings in a file `application.properties`.

    Raises:
        ConfigurationError: the file cannot be read, is too long, or has a line that is not a setting.
    """
    file = Path(path)
    try:
        if file.stat().st_size > _LONGEST:
            raise ConfigurationError(
                f"{file} has more than {_LONGEST:,} bytes, too many for settings: name another file"
            )
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"the settings of Debezium cannot be read from {file} ({type(error).__name__}): name a file of UTF-8 that "
            "is there where this runs"
        ) from None
    return read_properties(text)


def harms_named(names: Sequence[str]) -> frozenset[Harm]:
    """The harms of a list of `loses`, `spoils`, `stops`, `breaks`, `hides` and `doubles`.

    Raises:
        ConfigurationError: it is not a list of these names.
    """
    known = {harm.name.lower(): harm for harm in Harm}
    if isinstance(names, str) or any(name not in known for name in names):
        raise ConfigurationError(f"fail_on is {names!r}, but must be a list of {', '.join(known)}")
    return frozenset(known[name] for name in names)

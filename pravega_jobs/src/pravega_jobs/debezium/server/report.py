"""Whether Debezium Server may be started with its settings: what does harm, and which streams it lacks."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from aiopravega.client import PravegaClient
from aiopravega.errors import ConfigurationError
from pravega_jobs.debezium.server.settings import Harm, SettingFinding, check_settings
from pravega_jobs.debezium.server.streams import SCOPE, check_names, missing, streams_written

# Doubles are to be expected of Debezium in any case, and readers can remove them; hidden values are null, and named.
SERIOUS: Final = frozenset({Harm.LOSES, Harm.SPOILS, Harm.STOPS, Harm.BREAKS})


@dataclass(frozen=True, slots=True)
class DebeziumReport:
    """What was found: all findings, the harms that fail, the streams, and why others are not known (None: all are)."""

    findings: tuple[SettingFinding, ...]
    fail_on: frozenset[Harm]
    streams: tuple[str, ...]
    not_known: str | None

    @property
    def failures(self) -> tuple[SettingFinding, ...]:
        """The findings that fail."""
        return tuple(each for each in self.findings if each.harm in self.fail_on)

    @property
    def passed(self) -> bool:
        """Whether nothing fails; what only warns may be there."""
        return not self.failures

    def summary(self) -> str:
        """One line."""
        failed, warned = len(self.failures), len(self.findings) - len(self.failures)
        first = f": {self.failures[0]}" if failed else ""
        return f"{failed} settings of Debezium do harm, {warned} more deserve a warning{first}"

    def table(self) -> str:
        """All that was found, a line each."""
        lines = [f"{'fails' if each.harm in self.fail_on else 'warns'}: {each}" for each in self.findings]
        if self.not_known is not None:
            lines.append(f"not all streams are known, so not all were looked for: {self.not_known}")
        return "\n".join(lines or [f"nothing does harm; {len(self.streams)} streams are there"])

    def to_json(self) -> dict[str, Any]:
        """The same as plain JSON."""
        return {
            "passed": self.passed,
            "summary": self.summary(),
            "findings": [
                {
                    "setting": each.setting,
                    "value": each.value,
                    "harm": each.harm.name.lower(),
                    "fails": each.harm in self.fail_on,
                    "why": each.why,
                    "instead": each.instead,
                }
                for each in self.findings
            ],
            "streams": list(self.streams),
            "not_known": self.not_known,
        }


async def check_debezium(
    client: PravegaClient,
    settings: Mapping[str, str],
    fail_on: Collection[Harm] = SERIOUS,
    database: Sequence[SettingFinding] = (),
) -> DebeziumReport:
    """Check settings, the names of the streams that they lead to, and that these exist.

    Args:
        client: a connected client of the cluster that Debezium is to write to.
        settings: as `read_properties` gives them.
        fail_on: the harms that fail; others warn.
        database: what `check_database` has found, to have one report.

    Raises:
        ConfigurationError: the settings are not for Pravega's sink, or name no scope.
        ScopeNotFoundError: there is no such scope.
        PravegaError: the cluster cannot be asked.
    """
    findings = check_settings(settings)
    scope = settings.get(SCOPE, "").strip()
    if not scope:
        raise ConfigurationError(f"{SCOPE} is not given, so that it is not known where Debezium looks for its streams")
    streams = streams_written(settings)
    there = {each.stream for each in await client.list_streams(scope)}
    refused = check_names(streams)
    lacking = [
        SettingFinding(
            SCOPE,
            scope,
            Harm.STOPS,
            f"the stream {name} is not in it, and the sink makes none",
            "the scope that has it, or make the streams that are needed (make_streams)",
        )
        for name in missing(streams, there)
        if not any(finding.why.endswith(f" {name}") for finding in refused)
    ]
    return DebeziumReport(
        (*findings, *refused, *lacking, *database), frozenset(fail_on), streams.names, streams.not_known
    )

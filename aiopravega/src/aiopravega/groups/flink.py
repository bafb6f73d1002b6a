"""Ranges and cuts as options of tables in Flink's SQL, with the Pravega connector."""

from collections.abc import Sequence

from aiopravega.cuts import StreamCutRange
from aiopravega.errors import ConfigurationError


def flink_sql_options(ranges: Sequence[StreamCutRange]) -> str:
    """The options of a table that reads these ranges, for its `WITH (…)`: one line, in the order of the streams.

    The connector takes cuts for all streams or for none, and streams of one scope. A start that is unbounded is its
    head, an end that is unbounded is no end: the table is read on.

    Raises:
        ConfigurationError: a range names no stream, or the streams are of several scopes.
    """
    streams = [each.stream for each in ranges]
    named = [stream for stream in streams if stream is not None]
    if not ranges or len(named) < len(streams):
        raise ConfigurationError("a range whose ends are both unbounded names no stream: resolve it first")
    if len({stream.scope for stream in named}) > 1:
        raise ConfigurationError(f"a table of Flink has streams of one scope, not {', '.join(map(str, named))}")
    options = {"scope": named[0].scope, "scan.streams": ";".join(stream.stream for stream in named)}
    for name, cuts in (("start", [each.start for each in ranges]), ("end", [each.end for each in ranges])):
        if all(cut.is_unbounded for cut in cuts):
            continue
        if any(cut.is_unbounded for cut in cuts):
            raise ConfigurationError(f"the connector takes {name} cuts for all streams or for none: resolve the ranges")
        options[f"scan.{name}-streamcuts"] = ";".join(cut.to_text() for cut in cuts)
    return ", ".join(f"'{name}' = '{value}'" for name, value in options.items())

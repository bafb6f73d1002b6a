"""The work of `pravega-emulator load`, whose arguments that command reads."""

from aiopravega.blocking import PravegaClient
from aiopravega.commands.common import Options, show, table
from aiopravega.commands.grammar import SHOWN_CONTROLS
from aiopravega.config import PravegaConfig
from aiopravega.names import StreamName
from pravega_jobs.commands.ranges import ReadOption, check_named, connected, options_of
from pravega_jobs.frame_kinds import need


def load_into(options: Options, target: PravegaConfig) -> int:
    """Load recorded intervals into a cluster, and print what was loaded; returns the exit status.

    Args:
        options: the arguments of the command.
        target: the emulator.

    Raises:
        ConfigurationError: an argument cannot work, or a package is not installed.
        PravegaError: as of `pravega_jobs.sandbox.load`.
    """
    need("sql", "duckdb", "pyarrow")
    from pravega_jobs.sandbox import load

    options.read_options = [ReadOption.parse(text) for text in options.read_options]
    with connected(options) as cluster, PravegaClient(target) as emulator:
        scope = cluster.client.config.scope
        stream = cluster.name(options.stream)
        output = options.output
        is_table = output is not None and ":" in output
        named = [stream] if output is None or is_table else [stream, StreamName.parse(output, scope)]
        check_named(options, named, scope)
        done = load(
            cluster.client,
            emulator,
            stream,
            consumer=options.consumer,
            intervals=options.intervals,
            compare_with=output if is_table or output is None else named[1],
            write_id=options.write_id,
            commit_ledger=options.commit_ledger,
            options=options_of(options, stream, scope),
            output_options=options_of(options, named[1], scope, others=False) if named[1:] else {},
            registry=cluster.registry,
            columns=options.columns,
            output_columns=options.output_columns,
            most_events=options.most_events,
            most_bytes=options.most_bytes,
        )
    rows = [
        (each.interval, f"{each.events:,}", each.written_as, ", ".join(each.outputs), f"{each.output_events:,}")
        for each in done
    ]
    text = table(("INTERVAL", "EVENTS", "WRITE", "INTO", "EVENTS"), rows).translate(SHOWN_CONTROLS)
    return show(options, [each.to_json() for each in done], text)

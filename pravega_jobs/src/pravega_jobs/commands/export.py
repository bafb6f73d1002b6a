"""The command `pravega export`: a range of a stream as a file."""

from pathlib import Path

import click

from aiopravega.commands.common import STREAM, YES, Options, show, verb
from aiopravega.commands.grammar import NO, Argument, interrupted_at_once
from pravega_jobs.commands.ranges import RANGES, check_named, connected, plan, range_by
from pravega_jobs.frame_kinds import need


@verb(
    None,
    "export",
    STREAM,
    Argument(
        "file",
        "FILE",
        "where to: .parquet, .csv, or .json, .jsonl, .ndjson for an object a line",
        type=click.Path(path_type=Path, dir_okay=False),
    ),
    *RANGES,
    YES,
    has_client=False,
)
async def command(options: Options) -> int:
    """Write a range of a stream to a file: all of it as it is now, or what lies between two cuts or event times.

    The file appears as a whole or not at all. Without options and without a schema in the registry its rows are the
    events as they are, with segment and offset.
    """
    need("arrow", "pyarrow")
    from pravega_jobs.commands.forms import form_of, may_write, whole_file, write_rows
    from pravega_jobs.commands.progress import counted, progress

    file: Path = options.file
    form = form_of(file)
    with interrupted_at_once(), connected(options) as cluster:
        stream = cluster.name(options.stream)
        check_named(options, [stream], cluster.client.config.scope)
        planned = plan(cluster, range_by(options, cluster.client, stream), options)
        if not may_write(options, file):
            return NO
        with progress() as bars, whole_file(file) as sink:
            rows = write_rows(form, sink, counted(planned, bars))
    values = {"stream": str(stream), "file": str(file), "rows": rows}
    return show(options, values, f"{file} has {rows:,} rows of {stream}")

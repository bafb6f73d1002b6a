"""The command `pravega replay`: recorded intervals through other code, compared with what was written then."""

import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from aiopravega.commands.common import CONTROLLER, REGISTRY, SIZE, STREAM, Option, Options, show, verb
from aiopravega.commands.grammar import SHOWN_CONTROLS, interrupted_at_once
from aiopravega.errors import ReplayError
from aiopravega.names import StreamName
from pravega_jobs.commands.ranges import READ_OPTION, Cluster, check_named, connected, options_of
from pravega_jobs.frame_kinds import need

if TYPE_CHECKING:
    from pravega_jobs.sandbox import ReplayResult


@verb(
    None,
    "replay",
    STREAM,
    Option(["--consumer"], required=True, metavar="NAME", help="that took the intervals, as `pravega cuts` lists it"),
    Option(
        ["--interval", "intervals"], multiple=True, required=True, metavar="NAME", help="may be given several times"
    ),
    Option(
        ["--with", "code"],
        required=True,
        metavar="MODULE:FUNCTION",
        help="the function, in this folder or in PYTHONPATH; its first parameter is annotated as for @task.pravega",
    ),
    Option(
        ["--compare-with", "output"],
        metavar="SCOPE/STREAM|TABLE",
        help="the stream or the table that has what was written then; default: the stream that the ledger names",
    ),
    Option(
        ["--write-id"],
        metavar="ID",
        help="the name of the writes, with {interval} for the interval; default: the ledger names them",
    ),
    Option(["--commit-ledger"], metavar="SCOPE/TABLE", help="of the writes; default: the one in the output's scope"),
    Option(["--key"], multiple=True, metavar="COLUMN", help="that identifies a row; several times for several columns"),
    READ_OPTION,
    Option(["--into"], metavar="SCOPE", help="a scratch scope that gets the rows of now; it is made if it is missing"),
    Option(["--samples"], type=click.IntRange(min=0), default=5, metavar="N", help="rows of each difference (5)"),
    Option(
        ["--page"],
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="a page of HTML for the result; a file that is there is replaced",
    ),
    Option(["--memory"], type=SIZE, default="1GB", metavar="SIZE", help="of the comparison (1GB); more is on disk"),
    REGISTRY,
    CONTROLLER,
    has_client=False,
)
async def command(options: Options) -> int:
    """Run recorded intervals through a function, and compare what it gives with what was written then.

    Nothing is recorded or written, but into a scratch scope. The options -o are for the read of the intervals; those
    that name the output, SCOPE/OUTPUT:NAME=VALUE, are for its events. Exit status 1: something differs.
    """
    need("sql", "duckdb", "pyarrow")
    from pravega_jobs.commands.forms import whole_file
    from pravega_jobs.sandbox.functions import functions_of_this_folder

    try:
        with functions_of_this_folder(), interrupted_at_once(), connected(options) as cluster:
            result = _replayed(options, cluster)
    except ReplayError as error:
        traceback.print_exception(error.__cause__)
        raise
    if options.page is not None:
        with whole_file(options.page) as file:
            file.write(result.to_html().encode())
    return show(options, result.to_json(), result.text.translate(SHOWN_CONTROLS), yes=result.is_same)


def _replayed(options: Options, cluster: Cluster) -> "ReplayResult":
    from pravega_jobs.sandbox import replay

    scope = cluster.client.config.scope
    stream = cluster.name(options.stream)
    is_table = options.output is not None and ":" in options.output
    output = None if options.output is None or is_table else cluster.name(options.output)
    # Without --compare-with the ledger knows the output: it has the options for another stream than the first.
    others = {StreamName.parse(each.stream, scope) for each in options.read_options if each.stream is not None}
    outputs = [output] if output is not None else sorted(others - {stream}, key=str)
    check_named(options, [stream, *outputs[:1]], scope)
    of_output: dict[str, Any] = options_of(options, outputs[0], scope, others=False) if outputs else {}
    return replay(
        cluster.client,
        stream,
        consumer=options.consumer,
        intervals=options.intervals,
        code=options.code,
        compare_with=options.output if is_table else outputs[0] if outputs else None,
        key=options.key,
        write_id=options.write_id,
        commit_ledger=options.commit_ledger,
        options=options_of(options, stream, scope),
        output_options=of_output,
        registry=cluster.registry,
        into=options.into,
        samples=options.samples,
        memory=options.memory,
    )

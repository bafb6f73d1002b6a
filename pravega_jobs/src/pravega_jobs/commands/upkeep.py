"""The command `pravega tables upkeep`: small files of a table of files put together, and what nobody needs removed."""

from aiopravega.commands.common import DURATION, SIZE, YES, Option, Options, decided, show, verb
from aiopravega.commands.grammar import NO, Argument, Topic, interrupted_at_once


def add_upkeep(topic: Topic) -> None:
    """Add the command."""
    verb(
        topic,
        "upkeep",
        Argument("table", "TABLE", "delta:/folder or iceberg:catalog/namespace.table"),
        Option(
            ["--keep"],
            type=DURATION,
            default="7d",
            help="how long older versions stay readable (7d): longer than the longest job that reads or writes it",
        ),
        Option(
            ["--target-file-size", "target"],
            type=SIZE,
            default="128MiB",
            metavar="SIZE",
            help="to which size files are put together (128MiB)",
        ),
        YES,
        has_client=False,
    )(_upkeep)


async def _upkeep(options: Options) -> int:
    """Put small files of a table of Delta or Iceberg together, expire old snapshots, remove files nobody needs."""
    # Libraries of tables, which other verbs of the topic do not need.
    from pravega_jobs.upkeep import keep_up

    settings = {"target_file_bytes": options.target, "keep": options.keep}
    with interrupted_at_once():
        planned = None if options.yes else keep_up(options.table, dry_run=True, **settings)
        if not decided(options, str(planned)):
            return NO
        done = keep_up(options.table, **settings)
    return show(options, done.to_json(), str(done))

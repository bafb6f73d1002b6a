"""The command `pravega`, by topics. Each topic is a module with its own `main`."""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Final

TOPICS: Final = {
    "catalog": "scopes and streams, with the schemas of their events: list, describe, make, drop",
    "tables": "key-value tables: list, describe, delete",
    "groups": "reader groups of Java and Flink: how far they are, checkpoints; create, reset, delete",
    "lag": "what all consumers, reader groups and subscribers of some scopes have not read yet, in one table",
    "metrics": "lag of groups and consumers, sizes of streams, for Prometheus: once, or by HTTP",
    "schema": "compare a schema with files or a group of the registry before it is used; register it",
    "ledger": "exactly-once writes: their states, and a person's decisions about them",
    "cuts": "intervals of consumers: which ranges they have, what is open or gone, pictures; skip, forget, reopen",
    "backfill": "process the past of a stream, interval by interval",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command of a topic; returns its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    parser = argparse.ArgumentParser(
        prog="pravega",
        description="Inspect Pravega, and decide. A server to try things out comes with pravega-emulator.",
        epilog="More about a topic: pravega TOPIC --help",
    )
    topics = parser.add_subparsers(dest="topic", required=True, metavar="TOPIC")
    for topic, what in TOPICS.items():
        topics.add_parser(topic, help=what, add_help=False)
    topic = parser.parse_args(words[:1]).topic
    # A topic brings libraries that the others do not need.
    code: int = import_module(f"aiopravega.commands.{topic}").main(words[1:])
    return code

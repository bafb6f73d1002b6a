"""Reader groups, by which Java and Flink read: descriptions of their positions, and changes of them."""

from aiopravega.groups.calls import GroupCalls
from aiopravega.groups.cut_bytes import JavaCheckpoint, cut_from_bytes, cut_to_bytes
from aiopravega.groups.description import ReaderGroupDescription
from aiopravega.groups.parts import flink_sql_options
from aiopravega.groups.progress import StreamProgress

__all__ = [
    "GroupCalls",
    "JavaCheckpoint",
    "ReaderGroupDescription",
    "StreamProgress",
    "cut_from_bytes",
    "cut_to_bytes",
    "flink_sql_options",
]

"""The measured tables: each has a title and a function that runs its rounds."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from aiopravega import StreamName
from benchmarks import changes
from benchmarks.bench import CORES, SEGMENTS, Bench
from benchmarks.measure import Load, Measured
from benchmarks.rounds import Contender, Contenders, Rounds, into_new_streams, of_one_stream
from benchmarks.typed import rounds_of
from benchmarks.writers import write_events

LOADS = (Load("1 kB", 1_000_000, 1_000), Load("100 B", 5_000_000, 100))
# The official Python client is so slow that it gets this share of the events; its rate is what is compared.
_PYTHON_WRITE_SHARE = 200
_MICRO_BATCH_BYTES: Final = 256_000_000
_ONE_COLUMN: Final = "event binary"
_TYPED_EVENTS: Final = 1_000_000
_CHANGE_EVENTS: Final = 1_000_000
# A range four times as large as the cache: each read pushes out what the next one needs first.
COLD_CACHE_MEGABYTES: Final = 256
_DEPTHS: Final = (1, 2, 4, 8, 16, 32)


@dataclass(frozen=True, slots=True)
class Table:
    """`run` gets the server and the number of rounds."""

    title: str
    run: Callable[[Bench, int], Rounds]


def tables(kind: str, share: float) -> list[Table]:
    """The tables of a kind, with a share of the full number of events."""
    loads = [Load(load.name, int(load.events * share), load.size) for load in LOADS]
    match kind:
        case "read":
            return [_reads(load) for load in loads]
        case "write":
            return [_writes(load) for load in loads]
        case "typed":
            events = int(_TYPED_EVENTS * share)
            return [
                Table(
                    f"typed read, {events:,} flights as {name}, {SEGMENTS} segments", partial(rounds_of, kind, events)
                )
                for kind, name in (("json", "JSON"), ("avro", "Avro"))
            ]
        case "changes":
            events = int(_CHANGE_EVENTS * share)
            return [
                Table(
                    f"change events of Debezium, {events:,} {kind}, {SEGMENTS} segments",
                    partial(changes.rounds_of, kind, events),
                )
                for kind in ("plain", "with schemas")
            ]
        case "one-segment":
            return [_one_segment(load) for load in loads]
        case "cold":
            return [_cold(loads[0])]
        case _:
            raise ValueError(kind)


def _title(what: str, load: Load, segments: int = SEGMENTS) -> str:
    return f"{what}, {load.events:,} events of {load.name}, {segments} segments"


def _reads(load: Load) -> Table:
    def run(bench: Bench, rounds: int) -> Rounds:
        contenders: Contenders = {
            f"Java BatchClientFactory, {CORES} threads": lambda s, _: bench.java.ask("read", *_words(s), CORES),
            f"aiopravega bulk reader, {CORES} processes": lambda s, load: bench.bulk.read(s, load.size),
            "pyspark-pravega, sum(length(event))": bench.spark.sum_length,
            "pyspark-pravega, noop": bench.spark.noop,
            f"pyspark-pravega, sum(length(event)), schema({_ONE_COLUMN!r})": lambda s, load: bench.spark.sum_length(
                s, load, _ONE_COLUMN
            ),
            f"pyspark-pravega, noop, schema({_ONE_COLUMN!r})": lambda s, load: bench.spark.noop(s, load, _ONE_COLUMN),
            "pyspark-pravega, noop, AvailableNow": bench.spark.available_now,
            f"pyspark-pravega, noop, micro-batches of {_MICRO_BATCH_BYTES // 1_000_000} MB": lambda s, load: (
                bench.spark.available_now(s, load, max_bytes_per_trigger=str(_MICRO_BATCH_BYTES))
            ),
            "official Python client": lambda s, load: bench.python.ask("read", *_words(s), load.events),
        }
        stream = bench.fill(load)
        results = of_one_stream(contenders, stream, load, rounds)
        bench.drop(stream)
        return results

    return Table(_title("read", load), run)


def _writes(load: Load) -> Table:
    def run(bench: Bench, rounds: int) -> Rounds:
        def java(command: str, *numbers: int) -> Callable[[StreamName, Load], Measured]:
            return lambda s, load: bench.java.ask(command, *_words(s), load.events, load.size, *numbers)

        contenders: Contenders = {
            "Java EventStreamWriter": java("write"),
            "Java transactions": java("txn", SEGMENTS),
            "aiopravega writer": lambda s, load: write_events(bench.config, s, load),
            "pyspark-pravega, exactly once": bench.spark.write,
            "pyspark-pravega, at least once": lambda s, load: bench.spark.write(s, load, exactly_once="false"),
            "official Python client": lambda s, load: bench.python.ask(
                "write", *_words(s), load.events // _PYTHON_WRITE_SHARE, load.size
            ),
        }
        parquet: Contenders = {"Spark, into Parquet files": lambda _, load: bench.spark.write_parquet(load)}
        return into_new_streams(bench, contenders, load, rounds, elsewhere=parquet)

    return Table(_title("write", load), run)


def _one_segment(load: Load) -> Table:
    def run(bench: Bench, rounds: int) -> Rounds:
        def pinned(stream: StreamName, load: Load) -> Measured:
            with bench.spark.on_one_core():
                return bench.spark.sum_length(stream, load, split_bytes="0")

        contenders: Contenders = {
            "pyspark-pravega, sum(length(event)), Spark on 1 core": pinned,
            f"pyspark-pravega, sum(length(event)), Spark on {CORES} cores, unsplit": lambda s, load: (
                bench.spark.sum_length(s, load, split_bytes="0")
            ),
            f"pyspark-pravega, sum(length(event)), Spark on {CORES} cores": bench.spark.sum_length,
            "aiopravega bulk reader, 1 process": lambda s, load: bench.bulk.read(s, load.size),
            f"aiopravega bulk reader, {CORES} processes": lambda s, load: bench.bulk.read(s, load.size, CORES),
        }
        stream = bench.fill(load, segments=1)
        results = of_one_stream(contenders, stream, load, rounds)
        bench.drop(stream)
        return results

    return Table(_title("read", load, 1), run)


def _cold(load: Load) -> Table:
    def run(bench: Bench, rounds: int) -> Rounds:
        def cold(read: Contender) -> Contender:
            def run(stream: StreamName, load: Load) -> Measured:
                bench.forget()
                return read(stream, load)

            return run

        def bulk(requests: int) -> Contender:
            return cold(lambda s, load: bench.bulk.read(s, load.size, requests=requests))

        contenders: Contenders = {f"bulk reader, {n} x 1 MiB under way": bulk(n) for n in _DEPTHS}
        contenders = {**contenders, "pyspark-pravega, noop": cold(bench.spark.noop)}
        stream = bench.fill(load, segments=1)
        results = of_one_stream(contenders, stream, load, rounds)
        bench.drop(stream)
        return results

    return Table(_title(f"cold read, cache of {COLD_CACHE_MEGABYTES} MB", load, 1), run)


def _words(stream: StreamName) -> tuple[str, str]:
    return stream.scope, stream.stream

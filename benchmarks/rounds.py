"""Contenders take turns, round by round, so that a change of the machine's speed meets all of them."""

from collections.abc import Callable, Mapping
from functools import partial

from aiopravega import StreamName
from aiopravega.wire import EVENT_HEADER
from benchmarks.bench import Bench
from benchmarks.measure import Load, Measured

Contender = Callable[[StreamName, Load], Measured]
Contenders = Mapping[str, Contender]
Rounds = list[dict[str, Measured]]


def of_one_stream(contenders: Contenders, stream: StreamName, load: Load, rounds: int) -> Rounds:
    """All readers of one stream in turn. There is one more round than counts: the first warms up."""
    return [_round(contenders, lambda: stream, lambda _: None, load, number) for number in range(rounds + 1)][1:]


def into_new_streams(
    bench: Bench, contenders: Contenders, load: Load, rounds: int, elsewhere: Contenders | None = None
) -> Rounds:
    """All writers in turn, each into a stream of its own, or `elsewhere`. The first round does not count."""

    def give_back(stream: StreamName) -> None:
        bench.settle()
        bench.drop(stream)

    def checked(write: Contender, stream: StreamName, load: Load) -> Measured:
        done = write(stream, load)
        found, expected = bench.size(stream), done.events * (load.size + EVENT_HEADER)
        if found != expected:
            raise RuntimeError(f"{stream} has {found:,} bytes after a write of {expected:,}")
        return done

    contenders = {**{name: partial(checked, write) for name, write in contenders.items()}, **(elsewhere or {})}
    return [_round(contenders, bench.new_stream, give_back, load, number) for number in range(rounds + 1)][1:]


def _round(
    contenders: Contenders,
    take: Callable[[], StreamName],
    give_back: Callable[[StreamName], None],
    load: Load,
    number: int,
) -> dict[str, Measured]:
    results = {}
    # Who goes first changes from round to round: it finds what the one before has left behind.
    names = list(contenders)
    for name in names[number % len(names) :] + names[: number % len(names)]:
        stream = take()
        results[name] = contenders[name](stream, load)
        give_back(stream)
        print(f"{load.name}, round {number}: {name}: {results[name].megabytes_per_second:,.0f} MB/s", flush=True)
    return {name: results[name] for name in names}

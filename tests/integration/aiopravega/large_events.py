"""Events over 8 MiB of all kinds, between small ones: what tests of long events write."""

import hashlib
import random
from collections.abc import Iterable
from typing import Final

from aiopravega import wire

MIB: Final = 1024 * 1024
KEY: Final = "key"


def json_event(number: int, size: int = 1000) -> bytes:
    return (b'{"number": %d, "text": "' % number).ljust(size - 2, b"x") + b'"}'


def numbers(first: int, count: int) -> list[bytes]:
    return [json_event(number) for number in range(first, first + count)]


def sparse(size: int, seed: int) -> bytes:
    """Mostly zeros, as images and arrays are."""
    chance, data = random.Random(seed), bytearray(size)
    for _ in range(size // 50):
        data[chance.randrange(size)] = chance.randrange(256)
    return bytes(data)


# Each is longer than one append takes.
LARGE: Final = {
    "random": random.Random(1).randbytes(9_000_000),
    "zeros": bytes(20 * MIB),
    "sparse": sparse(33_000_000, 2),
    "text": b"x" * 40_000_001,
}


def mixed() -> list[bytes]:
    """More small events than a window has, around all the large ones; and some of no bytes."""
    events: list[bytes] = [b""]
    for number, large in enumerate(LARGE.values()):
        events += [*numbers(number * 20_000, 20_000), large, b""]
    return events


def digests(events: Iterable[bytes]) -> list[tuple[int, str]]:
    """As the Java peer describes events."""
    return [(len(event), hashlib.sha256(event).hexdigest()) for event in events]


def frames_inside(size: int) -> bytes:
    """An event that holds whole frames, as a copy of a segment does."""
    frames = wire.frame_events(numbers(0, size // 1008 + 1))
    return frames[:size]

"""What is fuzzed reads true bytes, and refuses wrong ones by an error of the package; `make fuzz` begins with those."""

import pytest
from tests.fuzz.targets import TARGETS

from aiopravega.errors import PravegaError

# Their blocks say what is wrong with an event; of the records, each kind refuses for itself.
NEVER_REFUSED = {"Avro columns", "JSON columns", "Protobuf columns", "changes of Debezium", "records of the ledgers"}


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_reads_its_seeds_and_other_bytes_give_our_errors_only(name):
    fuzzed = TARGETS[name]()
    assert fuzzed.seeds
    for seed in fuzzed.seeds:
        fuzzed.read(seed)
    refused = 0
    for wrong in (b"\xff" * 40, b"", *(seed[: len(seed) // 2] for seed in fuzzed.seeds)):
        try:
            fuzzed.read(wrong)
        except PravegaError:
            refused += 1
    assert refused or name in NEVER_REFUSED

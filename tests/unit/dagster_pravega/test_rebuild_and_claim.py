"""Tags by which a run writes or claims an interval again, for all its work or for one input: once by default."""

import dagster as dg
import pytest

from aiopravega import StreamName
from aiopravega.errors import ConfigurationError
from aiopravega.intervals.chain.claims import claimed_again
from aiopravega.ledger import Interval
from dagster_pravega.metadata.rebuild_and_claim import CLAIM_TAG, REBUILD_TAG, claim_of, generation_of


def run(**tags: str) -> dg.DagsterRun:
    return dg.DagsterRun("job", tags={f"pravega/{name}": value for name, value in tags.items()})


def test_generation_and_claim_are_1_unless_run_or_asset_names_another():
    assert (generation_of(None, run()), claim_of(None, run())) == (1, 1)
    assert (generation_of(None, run(rebuild=" 2 ")), claim_of(None, run(claim="3"))) == (2, 3)
    assert (generation_of(4, run(rebuild="4")), claim_of(5, run(rebuild="2"))) == (4, 5)


@pytest.mark.parametrize("read", [generation_of, claim_of])
@pytest.mark.parametrize("text", ["0", "-1", "soon", "1.5", ""])
def test_a_generation_or_claim_below_1_is_refused(read, text):
    with pytest.raises(ConfigurationError, match="must be a whole number of at least 1"):
        read(None, run(rebuild=text, claim=text))


@pytest.mark.parametrize(("read", "tag"), [(generation_of, REBUILD_TAG), (claim_of, CLAIM_TAG)])
def test_configuration_and_tag_that_differ_are_refused(read, tag):
    with pytest.raises(ConfigurationError, match=f"the run config says 2 and the run's tag '{tag}' says '3'"):
        read(2, run(rebuild="3", claim="3"))


def test_each_claim_has_a_separate_record():
    own = Interval("dagster/day", StreamName("examples", "orders"), "2026-01-01")
    claims = [claimed_again(own, number) for number in (1, 2, 3)]
    assert claims[0] is own
    assert len({claim.key for claim in claims}) == len({claim.last_key for claim in claims}) == 3
    with pytest.raises(ConfigurationError, match="claim is 0"):
        claimed_again(own, 0)

"""What a run wants done again, by its configuration or by a tag; a backfill gives its tags to all of its runs.

A write has a generation, the claim of a partition has a number. Both are 1 unless somebody says otherwise, and nothing
is repeated without that.
"""

from collections.abc import Mapping
from typing import Final

from dagster import DagsterRun

from aiopravega.errors import ConfigurationError
from pravega_jobs.writes import parse_generation

REBUILD_TAG: Final = "pravega/rebuild"
CLAIM_TAG: Final = "pravega/claim"


def generation_of(configured: int | None, run: DagsterRun) -> int:
    """Which generation of its writes a run makes.

    Raises:
        ConfigurationError: it is not a whole number of at least 1, or configuration and tag differ.
    """
    return parse_generation(_said(configured, run.tags, REBUILD_TAG))


def claim_of(configured: int | None, run: DagsterRun) -> int:
    """Which claim of its partition a run reads.

    Raises:
        ConfigurationError: it is not a whole number of at least 1, or configuration and tag differ.
    """
    text = str(_said(configured, run.tags, CLAIM_TAG)).strip()
    if not text.isdecimal() or int(text) < 1:
        raise ConfigurationError(f"claim is {text!r}, but must be a whole number of at least 1")
    return int(text)


def _said(configured: int | None, tags: Mapping[str, str], tag: str) -> int | str:
    tagged = tags.get(tag)
    if configured is not None and tagged is not None and str(configured) != tagged.strip():
        raise ConfigurationError(
            f"the run config says {configured} and the run's tag {tag!r} says {tagged!r}: leave one of them out"
        )
    if configured is not None:
        return configured
    return 1 if tagged is None else tagged

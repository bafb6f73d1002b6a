"""Requests of a run to repeat a write or a claim, by its configuration or by a tag.

A write has a generation, and the claim of a partition has a number. Both are 1 by default; only a greater number
repeats anything. A backfill gives its tags to all of its runs.
"""

from collections.abc import Mapping
from typing import Final

from dagster import DagsterRun

from aiopravega.errors import ConfigurationError
from pravega_jobs.writes import parse_generation

REBUILD_TAG: Final = "pravega/rebuild"
CLAIM_TAG: Final = "pravega/claim"


def generation_of(configured: int | None, run: DagsterRun) -> int:
    """The generation of a run's writes.

    Raises:
        ConfigurationError: it is not a whole number of at least 1, or configuration and tag differ.
    """
    return parse_generation(_said(configured, run.tags, REBUILD_TAG))


def claim_of(configured: int | None, run: DagsterRun | None) -> int:
    """The number of the claim that a run reads of its partition; 1 outside of runs, unless it is configured.

    Raises:
        ConfigurationError: it is not a whole number of at least 1, or configuration and tag differ.
    """
    text = str(_said(configured, {} if run is None else run.tags, CLAIM_TAG)).strip()
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

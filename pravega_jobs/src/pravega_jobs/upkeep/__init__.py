"""Upkeep of tables: small files put together, old snapshots and files that no reader needs removed, holdings kept."""

from pravega_jobs.upkeep.keep_up import keep_up
from pravega_jobs.upkeep.rules import Upkept

__all__ = ["Upkept", "keep_up"]

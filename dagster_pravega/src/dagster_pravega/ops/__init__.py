"""Ops and jobs: backfills, maintenance, work in other processes."""

"""Runs of Airflow that intervals belong to, by Airflow's database, so that the page can link to them."""

from collections import defaultdict
from collections.abc import Collection, Iterable
from contextlib import suppress
from datetime import datetime
from typing import Any
from urllib.parse import quote

from airflow.models.dagrun import DagRun
from sqlalchemy import or_, select
from sqlalchemy.orm import Session
from sqlalchemy.sql.elements import ColumnElement

from aiopravega.ledger import CutRecord
from airflow_pravega.tasks.identity import dag_of, interval_of_run, partition_of
from pravega_jobs.identity.names import AIRFLOW


def paths_of_runs(session: Session, records: Iterable[CutRecord]) -> dict[str, str]:
    """The paths of the runs' pages, below Airflow's path, by interval; an interval without a run is left out."""
    of_dags: defaultdict[str, list[str]] = defaultdict(list)
    of_runs: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for record in records:
        if record.claimant is not None and record.claimant.host == AIRFLOW:
            of_runs[record.claimant.job][record.claimant.run] = record.interval
        elif (dag_id := dag_of(record.recorded_by, record.interval)) is not None:
            of_dags[dag_id].append(record.interval)
    paths = {}
    for dag_id, intervals in of_dags.items():
        for run in session.scalars(select(DagRun).where(DagRun.dag_id == dag_id, _is_of(intervals))):
            paths[interval_of_run(run)] = _path(run)
    for dag_id, runs in of_runs.items():
        for run in session.scalars(select(DagRun).where(DagRun.dag_id == dag_id, DagRun.run_id.in_(runs))):
            paths[runs[run.run_id]] = _path(run)
    return paths


def _path(run: DagRun) -> str:
    return f"dags/{quote(run.dag_id, safe='')}/runs/{quote(run.run_id, safe='')}"


def _is_of(intervals: Collection[str]) -> ColumnElement[bool]:
    conditions = [DagRun.run_id.in_(intervals), DagRun.logical_date.in_(_dates(intervals))]
    partitions = [key for interval in intervals if (key := partition_of(interval)) is not None]
    if partitions:  # then this version of Airflow has the column
        conditions.append(DagRun.partition_key.in_(partitions))
    return or_(*conditions)


def _dates(intervals: Collection[str]) -> list[Any]:
    dates = []
    for interval in intervals:
        with suppress(ValueError):
            dates.append(datetime.fromisoformat(interval))
    return [date for date in dates if date.tzinfo is not None]

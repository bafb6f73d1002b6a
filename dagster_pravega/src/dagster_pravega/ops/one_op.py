"""Jobs of one op, which the run config and the pages call as the job is called.

Dagster wants one name for each definition of a code location, and a job is one, as its op is.
"""

import dagster as dg


def op_name(job: str) -> str:
    """The name of the definition of a job's op."""
    return f"{job}_op"


def job_of(op: dg.OpDefinition, name: str, description: str) -> dg.JobDefinition:
    """A job of one op, both of which users see as `name`."""

    @dg.job(name=name, description=description)
    def of_one_op() -> None:
        op.alias(name)()

    return of_one_op

"""Python imports this at the start of every process whose path has this folder: job, Spark's workers, executors."""

import os

if "FAULT_STEPS" in os.environ:
    from tests.faults.steps import count

    count()
if "FAULT_PLAN" in os.environ:
    from tests.faults.traps import arm

    arm()

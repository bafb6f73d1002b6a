"""Assets whose steps run in the process of their run."""

from functools import partial

import dagster as dg

from benchmarks.dagster_assets import A_RUN_EACH, ONE_RUN, POOL, counted, definitions

defs = definitions(
    dg.in_process_executor,
    {
        "in_process": partial(counted, policy=A_RUN_EACH),
        "pool": partial(counted, policy=A_RUN_EACH, pool=POOL),
        "one_run": partial(counted, policy=ONE_RUN),
        "connect": partial(counted, policy=A_RUN_EACH, manager="connect"),
        "arrow": partial(counted, policy=A_RUN_EACH, manager="arrow"),
    },
)

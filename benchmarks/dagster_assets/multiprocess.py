"""Assets each of whose steps has a process of its own, as it is by default."""

from functools import partial

import dagster as dg

from benchmarks.dagster_assets import A_RUN_EACH, counted, definitions, landed

defs = definitions(dg.multiprocess_executor, {"multiprocess": partial(counted, policy=A_RUN_EACH), "landed": landed})

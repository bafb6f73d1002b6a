"""A process that takes the next range of a consumer into a table, and dies at a step of it.

Arguments: the scope, the table, the interval; `call` or `return` and the function's name; none: it runs to the end.
Python's own profiler watches for the step: no code of ours takes part, and none is replaced.
"""

import json
import os
import signal
import sys
from types import FrameType
from typing import Any

from aiopravega.blocking import PravegaClient
from pravega_jobs.keeping import KeepRules, keep_table


def main(scope: str, table: str, interval: str, event: str = "", function: str = "") -> None:
    def die_there(frame: FrameType, happened: str, _: Any) -> None:
        if happened == event and frame.f_code.co_name == function:
            os.kill(os.getpid(), signal.SIGKILL)

    rules = KeepRules.of(columns="id long", options={"decode": "json"}, upkeep_after=2)
    with PravegaClient() as client:
        if event:
            sys.setprofile(die_there)
        kept = keep_table(client, f"{scope}/orders", table, rules, consumer="lake", interval=interval)
    print(json.dumps(kept.to_json()))


if __name__ == "__main__":
    main(*sys.argv[1:])

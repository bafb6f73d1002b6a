"""Runs of Dagster, each a process of its own that is forked from this one, which has imported all that they need.

A line of the input describes a run, and a line of the output says that it has ended. Nothing here has threads or
connections before the fork. A process that dies takes its whole session with it: its JVM, and Spark's workers.
"""

import json
import os
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
from tests.faults.process import send_signal, session
from tests.faults.steps import VARIABLE

from dagster_pravega import (
    LandingDatabase,
    PravegaArrowIOManager,
    PravegaResource,
    PravegaSparkIOManager,
    build_cdc_asset,
    build_landed_asset,
    pravega_stream_spec,
)

_RUN = "FAULT_RUN"
_POLL_SECONDS = 0.01


def copied(events: pa.Table) -> pa.Table:
    """The same events, with their keys."""
    keys = [event.split(b":")[0].decode() for event in events["event"].to_pylist()]
    return pa.table({"event": events["event"], "routing_key": keys})


def assets_of(run: dict[str, Any]) -> list[Any]:
    """The stream that is read, and the asset that a run materializes."""
    source = pravega_stream_spec(run["stream"], key="source")
    reads = {"events": dg.AssetIn("source", input_manager_key="arrow", metadata={"pravega/since": "last"})}
    if run["sink"] == "stream":

        @dg.asset(ins=reads, io_manager_key="arrow", metadata={"pravega/stream": run["into"][0]})
        def copy(events: pa.Table) -> pa.Table:
            return copied(events)

        return [source, copy]
    if run["sink"] == "two streams":
        outs = {
            name: dg.AssetOut(io_manager_key="arrow", metadata={"pravega/stream": stream})
            for name, stream in zip(("first", "second"), run["into"], strict=True)
        }

        @dg.multi_asset(ins=reads, outs=outs)
        def copies(events: pa.Table) -> tuple[pa.Table, pa.Table]:
            return copied(events), copied(events)

        return [source, copies]
    if run["sink"] == "merge":
        return [
            source,
            build_cdc_asset(
                source,
                key="merged",
                table=run["table"],
                key_of_rows="id",
                columns="id int, note string",
                since="last",
                history=run["history"],
            ),
        ]
    beside: dict[str, Any] = {"database_key": "warehouse"} if run["dsn"] else {}
    return [
        source,
        build_landed_asset(
            source,
            key="landed",
            table=run["table"],
            transform=lambda events: events.selectExpr("cast(event as string) as note"),
            since="last",
            **beside,
        ),
    ]


def job() -> dg.JobDefinition:
    """The job of the run that the environment describes."""
    run = json.loads(os.environ[_RUN])
    source, *assets = assets_of(run)
    pravega = PravegaResource(**{name: run[name] for name in ("controller_uri", "username", "password")})
    resources: dict[str, Any] = {"arrow": PravegaArrowIOManager(pravega=pravega), "pravega": pravega}
    if run["master"]:
        resources["pravega_spark"] = PravegaSparkIOManager(pravega=pravega, master=run["master"])
    if run["dsn"]:
        resources["warehouse"] = LandingDatabase(dsn=run["dsn"])
    made = dg.Definitions(
        assets=[source, *assets],
        resources=resources,
        jobs=[dg.define_asset_job("work", selection=[*assets])],
        executor=dg.in_process_executor,
    )
    return made.resolve_job_def("work")


def execute(run: dict[str, Any]) -> dict[str, Any]:
    """Make the run; `again` is the id of the run that it repeats."""
    again = dg.ReexecutionOptions(parent_run_id=run["again"]) if run["again"] else None
    with dg.DagsterInstance.get() as instance:
        done = dg.execute_job(
            dg.reconstructable(job), instance=instance, reexecution_options=again, raise_on_error=False
        )
        errors = [str(event.step_failure_data.error) for event in done.filter_events(lambda each: each.is_step_failure)]
    return {"ok": done.success, "run": done.run_id, "errors": errors}


def _child(folder: Path, run: dict[str, Any]) -> None:
    os.setsid()
    os.environ |= {VARIABLE: str(folder), _RUN: json.dumps(run)}
    log = os.open(folder / "log.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(log, stream)
    try:
        result = execute(run)
    except BaseException:  # noqa: BLE001  the fork must end here, whatever it was
        traceback.print_exc()
        sys.stderr.flush()
        result = {"ok": False, "run": "", "errors": [traceback.format_exc()]}
    part = folder / "result.part"
    part.write_text(json.dumps(result))
    part.rename(folder / "result.json")
    os._exit(0)


def fork(folder: Path, run: dict[str, Any]) -> None:
    """Make a run in a fork; after its limit of seconds it is killed. Its result is a file, if it has one."""
    pid = os.fork()
    if pid == 0:
        _child(folder, run)
    ends = time.monotonic() + run["seconds"]
    # Until it is waited for, nothing else gets its number, which is that of the session.
    while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None and time.monotonic() < ends:
        time.sleep(_POLL_SECONDS)
    while sum(send_signal(each, signal.SIGKILL) for each in session(pid) if each != pid):
        time.sleep(_POLL_SECONDS)
    send_signal(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def main() -> None:
    """Make a run for each line of the input."""
    print(flush=True)
    for line in sys.stdin:
        run = json.loads(line)
        fork(Path(run["folder"]), run)
        print(flush=True)


if __name__ == "__main__":
    main()

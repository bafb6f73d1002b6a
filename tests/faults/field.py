"""The field of a round of cases: a server, a new scope, jobs, and the reading of their results."""

import json
import os
import pickle
import re
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.faults.case import ONCE, Case, Result
from tests.faults.process import ROOT, Job, wait_until
from tests.faults.rows import SOURCE_ROWS, difference

from aiopravega import UNBOUNDED, PravegaConfig, ScalingPolicy, StreamCutRange, StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.control import TransactionState
from pravega_emulator import DurablePravega

_SOURCE = "source"
_READ_SECONDS = 300.0


class Field:
    """One scope on one server, with a stream for each case."""

    def __init__(
        self, config: PravegaConfig, folder: Path, cases: Sequence[Case], cluster: DurablePravega | None = None
    ) -> None:
        self.config = config.model_copy(update={"retry_timeout": 120.0})
        self.folder = folder
        self.cases = cases
        self.cluster = cluster
        self.scope = f"faults-{uuid.uuid4().hex[:8]}"
        self.jobs: list[Job] = []

    @property
    def streams(self) -> list[str]:
        """Names of all cases' streams."""
        return [case.name for case in self.cases]

    def prepare(self) -> None:
        """Make scope and streams, and fill the source of the streaming cases."""
        with PravegaClient(self.config) as client:
            client.create_scope(self.scope)
            if any(case.streaming for case in self.cases):
                client.create_stream(f"{self.scope}/{_SOURCE}", ScalingPolicy.fixed(SOURCE_ROWS.partitions))
                events = SOURCE_ROWS.events()
                with client.writer(f"{self.scope}/{_SOURCE}") as writer:
                    writer.write_many(events, [event.split(b":")[0].decode() for event in events])
        self.make_streams()

    def make_streams(self) -> None:
        """Make the cases' streams."""
        with PravegaClient(self.config) as client:
            for case in self.cases:
                client.create_stream(f"{self.scope}/{case.name}", ScalingPolicy.fixed(case.segments))

    def scale(self, segments: int) -> None:
        """Change the segments of all cases' streams."""
        with PravegaClient(self.config) as client:
            for case in self.cases:
                client.scale_stream(f"{self.scope}/{case.name}", segments)

    @property
    def store_port(self) -> int:
        """The port of the segment store."""
        with PravegaClient(self.config) as client:
            name = StreamName(self.scope, self.streams[0])
            segment = next(iter(client.head(name).positions))
            return client.locate(segment)[0].port

    def recorded_states(self) -> set[TransactionState]:
        """The states of all transactions that are recorded in the ledger."""
        with PravegaClient(self.config) as client:
            found = set()
            for stored in client.commit_ledger(self.scope).records():
                for part in stored.record.partitions:
                    found.add(
                        client.attach_transaction(f"{self.scope}/{stored.record.sink.stream}", part.txn_id).state()
                    )
            return found

    def recorded_incarnations(self) -> dict[str, set[int]]:
        """For each stream the incarnations that the ledger's records are about."""
        found: dict[str, set[int]] = {}
        with PravegaClient(self.config) as client:
            for stored in client.commit_ledger(self.scope).records():
                found.setdefault(stored.record.sink.stream, set()).add(stored.record.incarnation)
        return found

    def incarnations(self) -> dict[str, set[int]]:
        """For each stream its incarnation: the number of its first segment."""
        with PravegaClient(self.config) as client:
            heads = {name: client.head(f"{self.scope}/{name}") for name in self.streams}
        return {name: {min(segment.number for segment in head.positions)} for name, head in heads.items()}

    def plan(
        self, action: str, *, skews: Mapping[str, float] | None = None, proxies: Mapping[int, int] | None = None
    ) -> Path:
        """Write down what is to happen; returns the file, in a folder of its own."""
        faults = {
            case.name: {"point": case.point, "side": case.side, "nth": case.nth, "action": action}
            for case in self.cases
        }
        return self._plan("faults", {"faults": faults, "skews": skews or {}, "proxies": proxies or {}})

    def clock_plan(self, skews: Mapping[str, float]) -> Path:
        """The same for a job that has wrong clocks and meets no fault."""
        return self._plan("clocks", {"faults": {}, "skews": skews, "proxies": {}})

    def _plan(self, name: str, what: dict[str, Any]) -> Path:
        folder = self.folder / name
        folder.mkdir()
        path = folder / "plan.json"
        path.write_text(json.dumps(what))
        return path

    def start(
        self,
        *,
        plan: Path | None = None,
        master: str = "local[2]",
        tries: int = 1,
        controller: str | None = None,
        again: bool = False,
    ) -> Job:
        """Start a job that makes all the writes; `again` after the fault, when the rows may be others."""
        writes = [self._write(case, again=again) for case in self.cases]
        return self.start_writes(writes, plan=plan, master=master, tries=tries, controller=controller)

    def start_writes(
        self,
        writes: list[dict[str, Any]],
        *,
        plan: Path | None = None,
        master: str = "local[2]",
        tries: int = 1,
        controller: str | None = None,
    ) -> Job:
        """Start a job with any writes."""
        job = Job.start(
            self.folder / f"job-{len(self.jobs)}",
            {
                "master": master,
                "settings": {"spark.task.maxFailures": "4"},
                "tries": tries,
                "options": self._options(controller),
                "writes": writes,
            },
            plan,
        )
        self.jobs.append(job)
        return job

    def _options(self, controller: str | None) -> dict[str, str]:
        options = {"controller": controller or self.config.controller_uri, "scope": self.scope}
        if self.config.ca_file:
            options["ca_file"] = self.config.ca_file
        if self.config.username and self.config.password:
            options |= {"username": self.config.username, "password": self.config.password.get_secret_value()}
        return options

    def _write(self, case: Case, *, again: bool) -> dict[str, Any]:
        rows = case.rows_again if again and case.rows_again else case.written
        options = case.options | (case.options_again if again else {})
        return {
            "stream": case.name,
            "kind": (again and case.kind_again) or case.kind,
            "write_id": case.write_id,
            "rows": asdict(rows),
            "options": {name: value.format(scope=self.scope) for name, value in options.items()},
            "source": _SOURCE,
            "trigger_bytes": (again and case.trigger_bytes_again) or case.trigger_bytes,
            "checkpoint": str(self.checkpoint(case)),
        }

    def checkpoint(self, case: Case) -> Path:
        """The folder of a query's checkpoint."""
        return self.folder / "checkpoints" / case.name

    def wait_reached(self, job: Job, plan: Path) -> dict[str, int]:
        """Wait until each case has reached its point; returns the process that is there."""

        def missing() -> list[str]:
            return [name for name in self.streams if not (plan.parent / f"{name}.reached").exists()]

        def over() -> bool:
            # A write that is over has missed its point.
            return job.process.poll() is not None or any(job.result(name) for name in missing())

        wait_until(lambda: not missing() or over(), lambda: f"{missing()} did not come to their points:\n{job.said()}")
        assert not missing(), f"{missing()} ended without coming to their points:\n{job.said()}"
        return {name: int((plan.parent / f"{name}.reached").read_text()) for name in self.streams}

    def wait_left(self, job: Job, plan: Path) -> set[int]:
        """Wait until the tasks have ended that came to the point before the one which is there; their processes."""

        def left(name: str) -> list[str]:
            path = plan.parent / f"{name}.left"
            return path.read_text().split() if path.exists() else []

        def missing() -> list[str]:
            return [case.name for case in self.cases if len(left(case.name)) < case.nth - 1]

        wait_until(lambda: not missing(), lambda: f"tasks of {missing()} do not end:\n{job.said()}")
        return {int(pid) for name in self.streams for pid in left(name)}

    def send_on(self, plan: Path) -> None:
        """Let the processes that wait at their points continue."""
        for name in self.streams:
            (plan.parent / f"{name}.go").touch()

    @staticmethod
    def left_in(job: Job, stream: str) -> str:
        """The end of a write of a job, in words."""
        ended = job.result(stream)
        if ended is None:
            return "never ended"
        tries = len(ended["errors"]) + ended["written"]
        return ("written" if ended["written"] else "failed") + (f" by attempt {tries}" if tries > 1 else "")

    def results(self, job: Job, runs: Mapping[str, str]) -> dict[str, Result]:
        """The results of the last job and all before it. `runs` has the end of the earlier runs, by case, in words."""
        contents = read_officially(self.config, self.scope, self.streams, self.folder)
        results = {}
        for case in self.cases:
            ended = job.result(case.name)
            assert ended is not None, f"{case.name} did not end:\n{job.said()}"
            expected = case.expected
            found = difference(expected, contents[case.name])
            results[case.name] = Result(
                events=len(expected),
                lost=found.lost,
                doubled=found.doubled,
                strange=found.strange,
                disordered=found.disordered,
                ended=ONCE if ended["written"] else name_of(ended["errors"][-1]),
                runs=runs[case.name],
                seconds=round(ended["seconds"], 1),
            )
        return results


def read_officially(config: PravegaConfig, scope: str, streams: Sequence[str], folder: Path) -> dict[str, list[bytes]]:
    """The events of streams of a scope, as Pravega's official Python client reads them."""
    sizes, out = folder / "sizes.json", folder / "contents.pickle"
    with PravegaClient(config) as client:
        whole = StreamCutRange(UNBOUNDED, UNBOUNDED)
        found = {name: sum(part.size for part in client.plan(whole, StreamName(scope, name))) for name in streams}
    sizes.write_text(json.dumps(found))
    command = [sys.executable, "-m", "tests.faults.official", "--controller", config.controller_uri]
    command += ["--scope", scope, "--sizes", str(sizes), "--out", str(out)]
    answer = subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | _official_credentials(config),
        capture_output=True,
        text=True,
        timeout=_READ_SECONDS,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr[-4000:]
    contents: dict[str, list[bytes]] = pickle.loads(out.read_bytes())
    return contents


def _official_credentials(config: PravegaConfig) -> dict[str, str]:
    if not (config.username and config.password):
        return {}
    account = {"username": config.username, "password": config.password.get_secret_value()}
    named = {f"pravega_client_auth_{name}": value for name, value in account.items()}
    return {"pravega_client_auth_method": "Basic", **named}


@contextmanager
def field(
    config: PravegaConfig, folder: Path, cases: Sequence[Case], cluster: DurablePravega | None = None
) -> Iterator[Field]:
    """A field that is ready; jobs that are left at the end are killed."""
    ready = Field(config, folder, cases, cluster)
    ready.prepare()
    try:
        yield ready
    finally:
        for job in ready.jobs:
            job.kill()


def name_of(error: str) -> str:
    """The name of our error in one of Spark's stack traces."""
    names = re.findall(r"aiopravega\.errors\.(\w+)", error)
    return names[-1] if names else error.splitlines()[0][:200]

"""Where a round of cases runs: a server, a scope of its own, jobs, and the reading of what they left."""

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
from tests.faults.rows import Rows, difference

from aiopravega import UNBOUNDED, PravegaConfig, ScalingPolicy, StreamCutRange, StreamName
from aiopravega.blocking import PravegaClient
from aiopravega.control import TransactionState
from pravega_emulator import DurablePravega

_SOURCE = "source"
# A streaming case reads a source of this many rows in about four micro-batches.
_SOURCE_ROWS = Rows(seed=7, count=1200, partitions=3)
_TRIGGER_BYTES = 40_000
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
            for case in self.cases:
                client.create_stream(self.scope, case.name, ScalingPolicy.fixed(case.segments))
            if any(case.streaming for case in self.cases):
                client.create_stream(self.scope, _SOURCE, ScalingPolicy.fixed(_SOURCE_ROWS.partitions))
                events = _SOURCE_ROWS.events()
                with client.writer(self.scope, _SOURCE) as writer:
                    writer.write_many(events, [event.split(b":")[0].decode() for event in events])

    def scale(self, segments: int) -> None:
        """Change the segments of all cases' streams."""
        with PravegaClient(self.config) as client:
            for case in self.cases:
                client.scale_stream(self.scope, case.name, segments)

    @property
    def store_port(self) -> int:
        """Where the segment store listens."""
        with PravegaClient(self.config) as client:
            name = StreamName(self.scope, self.streams[0])
            segment = next(iter(client.head(name.scope, name.stream).positions))
            return client.locate(segment)[0].port

    def recorded_states(self) -> set[TransactionState]:
        """The states of all transactions that are recorded in the ledger."""
        with PravegaClient(self.config) as client:
            found = set()
            for case in self.cases:
                # The write ids of a query's micro-batches only the query knows.
                stored = client.commit_ledger(self.scope).lookup(StreamName(self.scope, case.name), case.write_id)
                for part in stored.record.partitions if stored else ():
                    found.add(client.attach_transaction(self.scope, case.name, part.txn_id).state())
            return found

    def plan(
        self, action: str, *, skews: Mapping[str, float] | None = None, proxies: Mapping[int, int] | None = None
    ) -> Path:
        """Write down what is to happen; returns the file, in a folder of its own."""
        folder = self.folder / "faults"
        folder.mkdir()
        faults = {
            case.name: {"point": case.point, "side": case.side, "nth": case.nth, "action": action}
            for case in self.cases
        }
        path = folder / "plan.json"
        path.write_text(json.dumps({"faults": faults, "skews": skews or {}, "proxies": proxies or {}}))
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
        job = Job.start(
            self.folder / f"job-{len(self.jobs)}",
            {
                "master": master,
                "settings": {"spark.task.maxFailures": "4"},
                "tries": tries,
                "options": self._options(controller),
                "writes": [self._write(case, again=again) for case in self.cases],
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
        return {
            "stream": case.name,
            "streaming": case.streaming,
            "write_id": case.write_id,
            "rows": asdict(rows),
            "options": case.options,
            "source": _SOURCE,
            "trigger_bytes": (again and case.trigger_bytes_again) or _TRIGGER_BYTES,
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

    def send_on(self, plan: Path) -> None:
        """Let the processes that wait at their points continue."""
        for name in self.streams:
            (plan.parent / f"{name}.go").touch()

    @staticmethod
    def told(job: Job, stream: str) -> str:
        """How a write of a job ended, in words."""
        ended = job.result(stream)
        if ended is None:
            return "never ended"
        tries = len(ended["errors"]) + ended["written"]
        return ("written" if ended["written"] else "failed") + (f" by attempt {tries}" if tries > 1 else "")

    def results(self, job: Job, runs: Mapping[str, str]) -> dict[str, Result]:
        """What the last job, and all before it, have left. `runs` tells what happened before."""
        contents = self._contents()
        results = {}
        for case in self.cases:
            ended = job.result(case.name)
            assert ended is not None, f"{case.name} did not end:\n{job.said()}"
            expected = _SOURCE_ROWS.events() if case.streaming else case.expected.events()
            found = difference(expected, contents[case.name])
            results[case.name] = Result(
                events=len(expected),
                lost=found.lost,
                doubled=found.doubled,
                strange=found.strange,
                disordered=found.disordered,
                ended=ONCE if ended["written"] else _name_of(ended["errors"][-1]),
                runs=runs[case.name],
                seconds=round(ended["seconds"], 1),
            )
        return results

    def _contents(self) -> dict[str, list[bytes]]:
        sizes, out = self.folder / "sizes.json", self.folder / "contents.pickle"
        with PravegaClient(self.config) as client:
            whole = StreamCutRange(UNBOUNDED, UNBOUNDED)
            found = {
                name: sum(part.size for part in client.plan(whole, StreamName(self.scope, name)))
                for name in self.streams
            }
        sizes.write_text(json.dumps(found))
        command = [sys.executable, "-m", "tests.faults.official", "--controller", self.config.controller_uri]
        command += ["--scope", self.scope, "--sizes", str(sizes), "--out", str(out)]
        answer = subprocess.run(
            command,
            cwd=ROOT,
            env=os.environ | self._official_credentials(),
            capture_output=True,
            text=True,
            timeout=_READ_SECONDS,
            check=False,
        )
        assert answer.returncode == 0, answer.stderr[-4000:]
        contents: dict[str, list[bytes]] = pickle.loads(out.read_bytes())
        return contents

    def _official_credentials(self) -> dict[str, str]:
        if not (self.config.username and self.config.password):
            return {}
        account = {"username": self.config.username, "password": self.config.password.get_secret_value()}
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


def _name_of(error: str) -> str:
    """The name of our error in one of Spark's stack traces."""
    names = re.findall(r"aiopravega\.errors\.(\w+)", error)
    return names[-1] if names else error.splitlines()[0][:200]

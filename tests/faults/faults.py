"""The faults: what happens to a job whose writes have come to their points, and how it is run again."""

import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.faults import between
from tests.faults.between import Meanwhile
from tests.faults.case import ONCE, Result
from tests.faults.field import Field
from tests.faults.process import Job, executors_of, wait_until
from tests.faults.proxy import Proxy

Results = dict[str, Result]
Fault = Callable[[Field], Results]
# A write that waits at its point keeps a core of the job busy.
_SPARE_CORES = 2
# A caller that tries again, as schedulers do; Spark itself has failures after a worker was killed in the driver's part.
_TRIES = 4
# How long the tokens of the cluster with authentication live.
TOKEN_SECONDS = 8
# What a process of the cluster may need until it works again.
_PROCESSES = ("zookeeper", "bookie", "segmentstore", "controller")


def _local(field: Field) -> str:
    return f"local[{len(field.cases) + _SPARE_CORES},4]"


def _cluster(field: Field) -> str:
    return f"local-cluster[2,{len(field.cases) + _SPARE_CORES},1024]"


def driver_killed(
    field: Field,
    meanwhile: Meanwhile = between.nothing,
    *,
    on_cluster: bool = False,
    master: str | None = None,
    skews: Mapping[str, float] | None = None,
) -> Results:
    """`kill -9` of the driver with all its workers, while each write is at its point; then a new job.

    `master` is for both runs of writes that wait in the driver, where they need no core.
    """
    plan = field.plan("wait", skews=skews)
    job = field.start(plan=plan, master=master or (_cluster(field) if on_cluster else _local(field)))
    field.wait_reached(job, plan)
    job.kill()
    meanwhile(field)
    retry = field.start(again=True, master=master or "local[2]")
    retry.end()
    return field.results(retry, dict.fromkeys(field.streams, "killed"))


def changed(field: Field, *, master: str | None = None) -> Results:
    """As `driver_killed`; then each stream has its own change, and another job removes old records from the ledger."""

    def meanwhile(field: Field) -> None:
        for case in field.cases:
            if case.between is not None:
                case.between(field, case)
        between.another_job_forgets(field)

    return _checked(field, driver_killed(field, meanwhile, master=master))


def streams_made_again(field: Field) -> Results:
    """As `driver_killed`; then all streams are deleted, and made again under the same names."""
    return _checked(field, driver_killed(field, between.for_all(between.made_again)))


def _checked(field: Field, results: Results) -> Results:
    """Check that the records of the ledger are about the streams that exist now."""
    recorded, now = field.recorded_incarnations(), field.incarnations()
    written = [name for name, result in results.items() if result.ended == ONCE and name in recorded]
    assert {name: recorded[name] for name in written} == {name: now[name] for name in written}
    return results


def worker_killed(field: Field) -> Results:
    """`kill -9` of the Python process that is at the point; Spark, or the caller of the write, tries again."""
    plan = field.plan("die")
    job = field.start(plan=plan, master=_local(field), tries=_TRIES)
    job.end()
    field.wait_reached(job, plan)
    return _left(field, job)


def executor_killed(field: Field) -> Results:
    """`kill -9` of the executors whose workers are at the points, with these; Spark tries again on others."""

    def meet(_job: Job, _plan: Path, pids: Mapping[str, int]) -> None:
        for pid in [*executors_of(pids.values()), *pids.values()]:
            os.kill(pid, signal.SIGKILL)

    return _met(field, meet, master=_cluster(field))


def idle_workers_killed(field: Field, *, seconds: float, master: str | None = None) -> Results:
    """`kill -9` of processes one second after their tasks have ended, with their executors on a cluster.

    A task of each write, which is at its point, continues for so many `seconds`; nobody tries the write again.
    """
    plan = field.plan("linger")
    job = field.start(plan=plan, master=master or _local(field))
    lingering = set(field.wait_reached(job, plan).values())
    left = field.wait_left(job, plan)
    time.sleep(1.0)
    executors = executors_of(left) - executors_of(lingering)
    victims = (left - lingering) | executors
    assert victims, f"all tasks ran in {left}, where others continue"
    for pid in victims:
        os.kill(pid, signal.SIGKILL)
    time.sleep(seconds)
    field.send_on(plan)
    job.end()
    return _left(field, job)


def zombie(field: Field) -> Results:
    """The whole job stops, as on a machine that is suspended; its retry ends, and then it wakes up and continues."""
    plan = field.plan("wait")
    job = field.start(plan=plan, master=_local(field))
    field.wait_reached(job, plan)
    job.signal(signal.SIGSTOP)
    retry = field.start(again=True)
    retry.end()
    _wake(field, job, plan)
    job.end()
    return field.results(retry, {name: f"zombie, {field.left_in(job, name)}" for name in field.streams})


def suspended(field: Field) -> Results:
    """The whole job stops until its leases have run out, and continues; its caller may try again."""

    def meet(job: Job, plan: Path, _pids: Mapping[str, int]) -> None:
        job.signal(signal.SIGSTOP)
        between.leases_run_out(field)
        _wake(field, job, plan)

    return _met(field, meet)


def tokens_expire(field: Field) -> Results:
    """Every token that the job has is too old when it continues."""

    def meet(_job: Job, plan: Path, _pids: Mapping[str, int]) -> None:
        time.sleep(2 * TOKEN_SECONDS)
        field.send_on(plan)

    return _met(field, meet, tries=1)


def connections_cut(field: Field) -> Results:
    """All connections to controller and segment store are reset when the writes are at their points."""
    with _proxies(field) as proxies:

        def meet(_job: Job, plan: Path, _pids: Mapping[str, int]) -> None:
            for proxy in proxies:
                proxy.cut()
            field.send_on(plan)

        return _met(field, meet, proxies=proxies)


def answers_lost(field: Field) -> Results:
    """The next requests arrive and their answers do not; then all connections are reset."""
    with _proxies(field) as proxies:

        def meet(_job: Job, plan: Path, _pids: Mapping[str, int]) -> None:
            for proxy in proxies:
                proxy.swallow(True)
            field.send_on(plan)
            wait_until(
                lambda: sum(proxy.swallowed for proxy in proxies) >= len(field.cases),
                lambda: "the job asks for nothing",
            )
            for proxy in proxies:
                proxy.cut()
                proxy.swallow(False)

        return _met(field, meet, proxies=proxies)


def server_killed(*names: str) -> Fault:
    """`kill -9` of processes of the cluster while the writes are at their points; they continue, it is restarted."""

    def fault(field: Field) -> Results:
        cluster = field.cluster
        assert cluster is not None

        def meet(_job: Job, plan: Path, _pids: Mapping[str, int]) -> None:
            for name in names:
                cluster.kill(name)
            field.send_on(plan)
            for name in _PROCESSES:
                if name in names:
                    cluster.restart(name)
            cluster.wait_ready()

        return _met(field, meet)

    return fault


def _met(
    field: Field,
    meet: Callable[[Job, Path, Mapping[str, int]], None],
    *,
    master: str | None = None,
    tries: int = _TRIES,
    proxies: tuple[Proxy, Proxy] | None = None,
) -> Results:
    """One job, which `meet` does something to when all writes are at their points; its caller may try again.

    `meet` gets the job, the plan that lets its writes continue, and the processes that are at the points.
    """
    controller, store = proxies or (None, None)
    plan = field.plan("wait", proxies={field.store_port: store.port} if store else None)
    job = field.start(
        plan=plan,
        master=master or _local(field),
        tries=tries,
        controller=f"tcp://127.0.0.1:{controller.port}" if controller else None,
    )
    meet(job, plan, field.wait_reached(job, plan))
    job.end()
    return _left(field, job)


@contextmanager
def _proxies(field: Field) -> Iterator[tuple[Proxy, Proxy]]:
    controller_port = int(field.config.controller_uri.rpartition(":")[2])
    with Proxy(controller_port) as controller, Proxy(field.store_port) as store:
        yield controller, store


def _wake(field: Field, job: Job, plan: Path) -> None:
    field.send_on(plan)
    job.signal(signal.SIGCONT)


def _left(field: Field, job: Job) -> Results:
    return field.results(job, {name: field.left_in(job, name) for name in field.streams})

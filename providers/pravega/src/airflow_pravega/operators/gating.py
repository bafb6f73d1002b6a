"""The base of the gates: a report, and a task that fails, skips, branches or asks people if the report does not pass.

This module knows neither schemas nor data.
"""

from abc import abstractmethod
from collections.abc import Callable, Coroutine, Sequence
from enum import StrEnum
from typing import Any, Final, Protocol, TypeVar

from airflow.providers.common.compat.sdk import AirflowFailException, AirflowSkipException, BranchMixIn
from airflow.sdk import Context
from airflow.sdk.bases.xcom import BaseXCom

from aiopravega import PravegaConfig, StreamName
from aiopravega.errors import ConfigurationError
from aiopravega.loop import LoopThread
from aiopravega.schema import RegistryConfig
from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.links import LinkedToStream
from airflow_pravega.tasks.arguments import check_stream
from airflow_pravega.tasks.asking import AsksPeople, Question
from airflow_pravega.tasks.failures import failing_for_good

FAIL: Final = "fail"
SKIP: Final = "skip"
ASK: Final = "ask"


R = TypeVar("R")


class GateChoice(StrEnum):
    """The choices of people at a gate that is closed."""

    LET_PASS = "Let it pass"
    STOP = "Stop here"
    SKIP = "Skip what follows"


class Report(Protocol):
    """The findings of a gate."""

    @property
    def passed(self) -> bool:
        """True if the DAG continues."""

    def summary(self) -> str:
        """The findings in one line."""

    def table(self) -> str:
        """All findings, as text."""

    def to_json(self) -> dict[str, Any]:
        """All findings, as plain JSON."""


class GateOperator(LinkedToStream, AsksPeople, BranchMixIn):
    """An operator that opens or closes the way for a DAG; in both cases its XCom is the report.

    If the gate is closed: with `on_violation="fail"` the task fails, without retries, since they would find the same;
    with `"skip"` the task and the tasks after it are skipped; with `"ask"` people decide, see `AsksPeople`, and the
    report also has `decision`, `{"choice", "by", "at"}`; with the ids of tasks that directly follow, only these tasks
    run. They are skipped if the gate is open.
    """

    inherits_from_skipmixin = True
    template_fields: Sequence[str] = ("stream", "pravega_conn_id")
    choices = tuple(GateChoice)
    # The effect of "Let it pass", for the question.
    letting_pass = "the tasks after this one run"

    def __init__(
        self,
        *,
        stream: str,
        on_violation: str | Sequence[str] = FAIL,
        pravega_conn_id: str = PravegaHook.default_conn_name,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_stream(stream)
        with failing_for_good():
            if on_violation != ASK and self.has_asking_arguments:
                raise ConfigurationError(
                    f"on_violation is {on_violation!r}, which asks nobody: leave out assigned_users, notifiers and "
                    "response_timeout, or say 'ask'"
                )
        self.stream = stream
        self.on_violation = on_violation
        self.pravega_conn_id = pravega_conn_id

    def execute(self, context: Context) -> dict[str, Any]:
        """Check, and let the DAG continue or not.

        Raises:
            AirflowFailException: the gate is closed, or an argument cannot work.
            AirflowSkipException: the gate is closed, with `on_violation="skip"`.
            PravegaError: the cluster or the registry cannot be reached.
        """
        with failing_for_good():
            branches = self._branches()
            report = self._run(self.check, context)
        content = report.to_json()
        (self.log.info if report.passed else self.log.warning)("The gate says:\n%s", report.table())
        if report.passed and not branches:
            return content
        context["ti"].xcom_push(BaseXCom.XCOM_RETURN_KEY, content)  # the next lines may leave by an exception
        if branches:
            self.do_branch(context, sorted(self.downstream_task_ids - branches) if report.passed else sorted(branches))
        elif self.on_violation == ASK:
            self.ask(self._question(report), context)
        elif self.on_violation == SKIP:
            raise AirflowSkipException(report.summary())
        else:
            raise AirflowFailException(report.summary())
        return content

    def execute_complete(self, context: Context, event: dict[str, Any]) -> dict[str, Any]:
        """Check again, and do as people have decided, if it is still what they were asked about.

        Raises:
            AirflowException: nobody has answered in time, or the report differs: the next try asks again.
            AirflowFailException: people have decided so, or an argument cannot work.
            AirflowSkipException: people have decided so.
            PravegaError: the cluster or the registry cannot be reached.
        """
        decision = self.decision_in(event)
        with failing_for_good():
            report = self._run(self.check, context)
            if report.passed:
                return report.to_json()
            self.check_still_asked(self._question(report), context)
            lets_pass = decision.choice == GateChoice.LET_PASS
            if lets_pass:
                report = self._run(self.let_pass, context)
        content = {**report.to_json(), "decision": decision.to_json()}
        if lets_pass:
            return content
        context["ti"].xcom_push(BaseXCom.XCOM_RETURN_KEY, content)
        said = f"{report.summary()}; {decision.by} has decided: {decision.choice}"
        raise AirflowSkipException(said) if decision.choice == GateChoice.SKIP else AirflowFailException(said)

    def _question(self, report: Report) -> Question:
        body = (
            f"```\n{report.table()}\n```\n\n| choice | what happens |\n|---|---|\n"
            f"| {GateChoice.LET_PASS} | {self.letting_pass} |\n"
            f"| {GateChoice.STOP} | this task fails, without another try |\n"
            f"| {GateChoice.SKIP} | this task and the tasks after it are skipped |"
        )
        return Question(f"May it pass to {self.stream}? {report.summary()}", body, self.choices)

    def _run(self, work: Callable[[PravegaConfig, RegistryConfig], Coroutine[Any, Any, R]], context: Context) -> R:
        hook = PravegaHook(self.pravega_conn_id)
        config = hook.get_config()
        self.link_to_stream(context, StreamName.parse(self.stream, config.scope))
        return LoopThread.shared().run(work(config, hook.get_registry_config()))

    def _branches(self) -> set[str]:
        """The ids of the tasks that run when the gate is closed."""
        if self.on_violation in (FAIL, SKIP, ASK):
            return set()
        branches = {self.on_violation} if isinstance(self.on_violation, str) else set(self.on_violation)
        unknown = branches - self.downstream_task_ids
        if unknown or not branches:
            known = ", ".join(sorted(self.downstream_task_ids)) or "there are none"
            raise ConfigurationError(
                f"on_violation is {self.on_violation!r}: give fail, skip, ask, or tasks that directly follow: {known}"
            )
        return branches

    @abstractmethod
    async def check(self, config: PravegaConfig, registry: RegistryConfig) -> Report:
        """Check, and report the findings."""

    async def let_pass(self, config: PravegaConfig, registry: RegistryConfig) -> Report:
        """Do what letting pass means, after people have decided so; returns the report."""
        return await self.check(config, registry)

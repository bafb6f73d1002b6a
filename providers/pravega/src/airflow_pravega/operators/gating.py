"""The base of the gates: a report, and a task that fails, skips or branches if the report does not pass.

This module knows neither schemas nor data.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Final, Protocol

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
from airflow_pravega.tasks.failures import failing_for_good
from airflow_pravega.tasks.templates import TemplatedTexts

FAIL: Final = "fail"
SKIP: Final = "skip"


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


class GateOperator(LinkedToStream, TemplatedTexts, BranchMixIn):
    """An operator that opens or closes the way for a DAG; in both cases its XCom is the report.

    If the gate is closed: with `on_violation="fail"` the task fails, without retries, since they would find the same;
    with `"skip"` the task and the tasks after it are skipped; with the ids of tasks that directly follow, only these
    tasks run. They are skipped if the gate is open.
    """

    inherits_from_skipmixin = True
    template_fields: Sequence[str] = ("stream", "pravega_conn_id")

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
            hook = PravegaHook(self.pravega_conn_id)
            config = hook.get_config()
            self.link_to_stream(context, StreamName.parse(self.stream, config.scope))
            report = LoopThread.shared().run(self.check(config, hook.get_registry_config()))
        content = report.to_json()
        (self.log.info if report.passed else self.log.warning)("The gate says:\n%s", report.table())
        if report.passed and not branches:
            return content
        context["ti"].xcom_push(BaseXCom.XCOM_RETURN_KEY, content)  # the next lines may leave by an exception
        if branches:
            self.do_branch(context, sorted(self.downstream_task_ids - branches) if report.passed else sorted(branches))
        elif self.on_violation == SKIP:
            raise AirflowSkipException(report.summary())
        else:
            raise AirflowFailException(report.summary())
        return content

    def _branches(self) -> set[str]:
        """The ids of the tasks that run when the gate is closed."""
        if self.on_violation in (FAIL, SKIP):
            return set()
        branches = {self.on_violation} if isinstance(self.on_violation, str) else set(self.on_violation)
        unknown = branches - self.downstream_task_ids
        if unknown or not branches:
            known = ", ".join(sorted(self.downstream_task_ids)) or "there are none"
            raise ConfigurationError(
                f"on_violation is {self.on_violation!r}: give fail, skip, or tasks that directly follow: {known}"
            )
        return branches

    @abstractmethod
    async def check(self, config: PravegaConfig, registry: RegistryConfig) -> Report:
        """Check, and report the findings."""

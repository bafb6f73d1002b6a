"""Programs that a worker's `spark-submit` hands to a cluster, which knows the submission by a name: YARN, Kubernetes.

`spark-submit` ends once the cluster has the program. The cluster is asked for the name then, also if it has failed.
"""

import asyncio
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

from airflow.providers.common.compat.sdk import AirflowException

from aiopravega.errors import ConfigurationError, ServerError
from airflow_pravega.spark.drivers import ClusterProgram, environment_with
from pravega_jobs.remote.orders import is_secret_variable


@dataclass(frozen=True, slots=True)
class NamedProgram(ClusterProgram):
    """A program that `hook` of Airflow's provider submits; the settings of Spark name the submission."""

    hook: Any = field(kw_only=True)
    application: str = field(kw_only=True)
    # The way out if the cluster does not know what `spark-submit` has submitted.
    if_unknown: ClassVar[str]

    @abstractmethod
    def naming(self, submission: str) -> Mapping[str, str]:
        """The settings of Spark that name the submission."""

    def with_settings(self, settings: Mapping[str, str]) -> Self:
        """See `ClusterProgram`."""
        changed = ClusterProgram.with_settings(self, settings)
        return replace(changed, settings={**self.settings, **settings})

    async def submit(self, submission: str, variables: Mapping[str, str]) -> str:
        """See `ClusterProgram`; the cluster is asked before, since `spark-submit` takes long.

        Raises:
            AirflowException: `spark-submit` has failed, and the cluster has no program that has begun.
        """
        drivers = self.drivers
        await drivers.find(submission)
        failure = None
        try:
            await asyncio.to_thread(self._run_spark_submit, submission, variables)
        except AirflowException as error:
            failure = error  # which may come after the program has arrived
        except RuntimeError:
            pass  # the provider has found no id, which the log of `spark-submit` may hide
        driver = await drivers.find(submission)
        if driver is not None and failure is not None and not (await drivers.status(driver)).has_begun:
            await drivers.kill(driver)  # it may lack what `spark-submit` makes last, and wait for it without end
            raise failure
        if driver is not None:
            return driver
        raise failure or ServerError(
            f"spark-submit has ended well, and {', '.join(self.servers)} has no program with the name {submission}: "
            f"{self.if_unknown}"
        )

    def _run_spark_submit(self, submission: str, variables: Mapping[str, str]) -> None:
        self.hook._conf = {**self.settings, **self.naming(submission)}  # noqa: SLF001  # the provider has no public way
        self.hook._env_vars = {**self.environment, **variables}  # noqa: SLF001  # the same
        with environment_with({}):
            self.hook.submit(self.application)


def refuse_secrets(names: Iterable[str], settings: Iterable[str], prefixes: Sequence[str], way_out: str) -> None:
    """Refuse secrets of Pravega that would be settings of Spark.

    Args:
        names: variables of the driver's environment.
        settings: the names of settings of Spark.
        prefixes: settings that begin with one of them are variables.
        way_out: what to do instead.

    Raises:
        ConfigurationError: there are secrets.
    """
    given = [*names]
    given += [name.removeprefix(prefix) for name in settings for prefix in prefixes if name.startswith(prefix)]
    if secrets := sorted({each for each in given if is_secret_variable(each)}):
        raise ConfigurationError(f"{', '.join(secrets)} would be a setting of Spark, {way_out}")


def refuse_waiting(conf: Mapping[str, Any], setting: str) -> None:
    """Refuse the setting by which `spark-submit` waits for the end of the program.

    Raises:
        ConfigurationError: it is set.
    """
    if str(conf.get(setting, "false")).strip().lower() != "false":
        raise ConfigurationError(f"{setting}={conf[setting]} keeps the worker: leave it out with deferrable=True")

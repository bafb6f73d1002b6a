"""The trigger of operators that write through Spark Connect: waits until an operation of the server has ended.

Airflow keeps this module's path in its database, with the class of each trigger that waits.
"""

import asyncio
import random
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any, Final

from aiopravega.errors import PravegaError, ServerError
from airflow_pravega.polling.outage import Outage
from airflow_pravega.triggers.work import PravegaWorkTrigger
from pravega_jobs.spark import connect
from pravega_jobs.spark.progress import SparkProgress, Stage

_FIRST_SECONDS: Final = 5.0
# Well below the five minutes after which a server ends what nobody follows.
_MOST_SECONDS: Final = 60.0


class PravegaSparkOperationTrigger(PravegaWorkTrigger):
    """Fires once, when an operation has ended; `end` in its event is the `OperationEnd` as plain JSON.

    While it follows the operation, the server does not end it. Its log has the stages of Spark every ten seconds. A
    task that a person ends takes its operation with it.

    Args:
        operation: the names of the `Operation`.
        observations: the names of the observations whose values its event has.
        poll_interval: seconds between two questions while the server is away, 60 at most.
        **kwargs: what `PravegaWorkTrigger` takes.
    """

    own = ("operation", "observations", "poll_interval")

    def __init__(
        self, *, operation: dict[str, str], observations: Sequence[str], poll_interval: float, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.operation = operation
        self.observations = list(observations)
        self.poll_interval = poll_interval

    @property
    def work(self) -> str:
        """The operation."""
        return str(self._named)

    @property
    def _named(self) -> connect.Operation:
        return connect.Operation(**self.operation)

    async def end_of_work(self) -> dict[str, Any]:
        """The `OperationEnd`, as plain JSON."""
        progress, outage = SparkProgress(self.log), Outage(self.work, self.log)

        def on_progress(stages: Iterable[Stage]) -> None:
            outage.succeeded()
            progress.take(stages)

        following = connect.Following(self._named, self.observations, on_progress)
        # Airflow fails a task whose trigger fires before the process that deferred has ended.
        await asyncio.sleep(_FIRST_SECONDS * random.uniform(0.5, 1.0))
        while True:
            try:
                return asdict(await following.end())
            except PravegaError as error:
                outage.failed(error)
            except Exception as error:
                # The task is to continue, so that it ends its operation; a further try can succeed.
                self.log.exception("%s cannot be followed", self.work)
                raise ServerError(f"{self.work} cannot be followed: {type(error).__name__}: {error}") from error
            await asyncio.sleep(min(self.poll_interval, _MOST_SECONDS) * random.uniform(1.0, 1.5))

    async def on_kill(self) -> None:
        """End the operation, and its session."""
        self.log.info("The task was ended: ending %s", self.work)
        await asyncio.to_thread(connect.end, self._named)

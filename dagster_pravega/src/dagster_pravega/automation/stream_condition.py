"""The condition of a stream as Dagster evaluates it: asked in the time of the tick, false in an outage."""

import logging
from abc import abstractmethod

import dagster as dg
from dagster._core.asset_graph_view.entity_subset import EntitySubset

from aiopravega import PravegaConfig
from aiopravega.errors import ConfigurationError, NoWatermarksError, PravegaError
from dagster_pravega.automation.watched import Given, Watched


class StreamCondition(dg.AutomationCondition[dg.AssetKey]):
    """A condition of the stream that an asset reads; `PravegaCondition` makes it.

    Dagster evaluates it where the user's code is, because its daemon does not have this package. So it is not among the
    classes that Dagster serializes: a daemon would not be able to load the definitions then.
    """

    def __init__(self, text: str, given: Given) -> None:
        self._text, self._given = text, given

    @property
    def name(self) -> str:
        """The condition as Dagster's pages show it."""
        return self._text

    @property
    def description(self) -> str:
        """The condition with the stream that it is given."""
        return f"{self._text} of {self._given.stream or 'the stream that the asset reads'}"

    @property
    def requires_cursor(self) -> bool:
        """False: what it remembers is in Pravega."""
        return False

    async def evaluate(  # type: ignore[override]  # as Dagster's own conditions do, which it waits for
        self, context: dg.AutomationContext[dg.AssetKey]
    ) -> dg.AutomationResult[dg.AssetKey]:
        """The part of the candidates for which the condition is true; called by Dagster.

        Raises:
            ConfigurationError: the stream or the consumer is not clear.
        """
        true = context.get_empty_subset()
        if not context.candidate_subset.is_empty:
            config = self._given.config()
            watched = self._given.of_asset(context, config)
            try:
                true = await self.true_subset(context, config, watched)
            except ConfigurationError:
                raise
            except NoWatermarksError as error:
                self.log(context, logging.INFO, str(error))
            except PravegaError as error:
                self.log(context, logging.WARNING, f"{watched.stream} cannot be asked: {type(error).__name__}: {error}")
        return dg.AutomationResult(context, true)

    def log(self, context: dg.AutomationContext[dg.AssetKey], level: int, reason: str) -> None:
        """Say in the log of the tick why the condition is taken for false."""
        log = context._root_log  # noqa: SLF001 - lines of `context.log`, its child, are not in the log of the tick
        log.log(level, "%s of %s is taken for false: %s", self._text, context.key.to_user_string(), reason)

    @abstractmethod
    async def true_subset(
        self, context: dg.AutomationContext[dg.AssetKey], config: PravegaConfig, watched: Watched
    ) -> EntitySubset[dg.AssetKey]:
        """The part of the candidates for which the condition is true."""

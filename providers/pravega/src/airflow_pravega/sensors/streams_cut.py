"""The sensor that waits until several streams have moved far enough, and returns a range of each."""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from airflow.providers.common.compat.sdk import AirflowSkipException
from airflow.sdk import Context, PokeReturnValue

from aiopravega import PravegaClient, PravegaConfig, StreamName, bounded
from aiopravega.errors import ConfigurationError, StreamSealedError
from aiopravega.intervals.conditions.move_condition import MoveCondition
from aiopravega.intervals.conditions.stream_watch import StreamWatch
from aiopravega.loop import LoopThread
from aiopravega.names import check_name
from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.sensors.run_range import CHAINED, RunRange
from airflow_pravega.sensors.stream_cut import IfEmpty, PravegaStreamCutSensor
from airflow_pravega.tasks.arguments import EARLIEST, check_choice, check_known, choice_of, in_order, known_texts
from airflow_pravega.tasks.claimants import Judge
from airflow_pravega.tasks.failures import failing_for_good
from airflow_pravega.triggers.reachable import PravegaReachableTrigger
from airflow_pravega.triggers.streams import PravegaStreamsTrigger, matching
from pravega_jobs.debezium.transactions import watch_of

# Streams that are asked for at a time, and that a line of the log names.
_AT_ONCE: Final = 16
_MOST_SHOWN: Final = 20
_STARTS: Final = (*CHAINED, EARLIEST)
_PATTERN_MARKS: Final = "*?["
# These are of one stream.
_OF_ONE: Final = ("stream", "reach", "transactions")


class WaitFor(StrEnum):
    """The number of streams that have to move."""

    ALL = "all"
    ANY = "any"


class PravegaStreamsCutSensor(PravegaStreamCutSensor):
    """Waits until all or any of several streams have moved far enough; returns the list of their ranges.

    Each stream has a chain of ranges of its own, as if it had a `PravegaStreamCutSensor`, whose other arguments this
    sensor takes as well: each stream has to meet its conditions. A range is recorded as soon as its stream has moved.
    The result has a range for each stream that has moved, with `stream` beside the other names, so that a task is
    mapped over it: `read.expand(stream_cuts=wait.output)`. The log says for which streams it still waits.

    With `"any"`, a run that is tried or cleared again gets the ranges that it has, and no others. With `"all"` and a
    pattern, a stream that was made meanwhile is added.

    Args:
        streams: names, `scope/stream`, and patterns such as `shop/orders-*`, with `*`, `?` and `[…]` as for files; all
            patterns in one scope, which is read again and again, so that new streams count. Without a scope, of the
            connection's default scope. (templated)
        wait_for: `"all"` or `"any"` of the streams; streams that are sealed too early end the wait for `"all"`.
        since: `"last"`, `"latest"` or `"earliest"`, as for one stream. (templated)
        stream: not for this sensor: see `streams`.
        reach: not for this sensor: it is of one stream.
        transactions: not for this sensor: they are of one stream.
        **kwargs: the other arguments of `PravegaStreamCutSensor`.
    """

    template_fields: Sequence[str] = (
        "streams",
        *(name for name in PravegaStreamCutSensor.template_fields if name not in _OF_ONE),
    )

    def __init__(self, *, streams: Sequence[str], wait_for: str = WaitFor.ALL.value, **kwargs: Any) -> None:
        with failing_for_good():
            given = [name for name in _OF_ONE if kwargs.get(name) is not None]
            if given:
                raise ConfigurationError(f"{given[0]} is of one stream: wait for it by a PravegaStreamCutSensor")
            if isinstance(streams, str) or not streams:
                raise ConfigurationError(f"streams is {streams!r}, but must be a list of names and patterns")
            _patterns_of([name for name in known_texts(in_order(streams)) if "/" in name], None)
        super().__init__(stream=", ".join(in_order(streams)), **{"multiple_outputs": False, **kwargs})
        check_choice(WaitFor, "wait_for", wait_for)
        check_known(self.since, _check_since)
        for name in streams:
            check_known(name, lambda text: _parsed([text], "scope"))
        self.streams = in_order(streams)
        self.wait_for = wait_for
        self._watches: dict[StreamName, StreamWatch] = {}
        self._consumers: dict[StreamName, str] = {}
        self._judges: dict[StreamName, Judge] = {}
        self._known: list[str] = []

    def check_named(self, stream: str) -> None:
        """See `PravegaWaitingSensor`: each name is checked by itself."""

    def poke(self, context: Context) -> PokeReturnValue:
        self.stream = ", ".join(self.streams)  # as the templates gave them
        return super().poke(context)

    def _check(self, context: Context, condition: MoveCondition, gives_up_at: datetime | None) -> PokeReturnValue:
        config = PravegaHook(self.pravega_conn_id).get_config()
        wait_for = choice_of(WaitFor, "wait_for", self.wait_for)
        ranges = LoopThread.shared().run(self._claimed(config, context, condition, wait_for))
        found = [{"stream": str(each.stream), **claimed} for each, claimed in ranges if claimed is not None]
        waiting = [each for each, claimed in ranges if claimed is None]
        if ranges:
            self.link_to_consumer(context, ranges[0][0].stream, {"consumer": ranges[0][0].interval.consumer})
        if found and (not waiting or wait_for is WaitFor.ANY):
            self.explain(context, None)
            return PokeReturnValue(True, found)
        self._explain(context, ranges, waiting, condition)
        if choice_of(IfEmpty, "if_empty", self.if_empty) is IfEmpty.SKIP and not any(
            each.waits_for for each in waiting
        ):
            raise AirflowSkipException(f"{self.stream}: not yet {condition}, so there is nothing to do")
        if self.deferrable:
            scope, patterns = _patterns_of(self.streams, config.scope)
            triggers = [(each.stream, *self.trigger_of(context, each, condition)) for each in waiting]
            self.wait_with(
                PravegaStreamsTrigger,
                self.stream,
                give_up_at=gives_up_at,
                waits=[(kind.__name__, {"stream": str(stream), **own}) for stream, kind, own in triggers],
                wait_for=wait_for.value,
                scope=scope,
                patterns=patterns,
                known=self._known,
            )
        return PokeReturnValue(False)

    async def _claimed(
        self, config: PravegaConfig, context: Context, condition: MoveCondition, wait_for: WaitFor
    ) -> list[tuple[RunRange, dict[str, str] | None]]:
        """The ranges of all streams; None for those that have not moved."""
        async with PravegaClient(config) as client:
            runs = [self._range_of(config, context, name, condition) for name in await self._names(client)]
            if wait_for is WaitFor.ANY:
                own = await bounded.each(lambda run: run.has_own(client), runs, _AT_ONCE)
                runs = [run for run, has in zip(runs, own, strict=True) if has] or runs
            sealed: list[StreamSealedError] = []

            async def claim(run: RunRange) -> dict[str, str] | None:
                try:
                    return await run.claim_by(client)
                except StreamSealedError as error:
                    sealed.append(error)
                    return None

            claimed = await bounded.each(claim, runs, _AT_ONCE)
        for run in runs:
            self._consumers[run.stream] = run.interval.consumer
        if sealed and (wait_for is WaitFor.ALL or len(sealed) == len(runs)):
            raise sealed[0]
        return list(zip(runs, claimed, strict=True))

    async def _names(self, client: PravegaClient) -> list[StreamName]:
        scope, patterns = _patterns_of(self.streams, client.config.scope)
        named = [each for each, is_pattern in _parsed(self.streams, client.config.scope) if not is_pattern]
        if scope is not None:
            self._known = matching((each.stream for each in await client.list_streams(scope)), patterns)
        found = [StreamName.parse(each, client.config.scope) for each in named]
        found += [StreamName(scope, each) for each in self._known] if scope is not None else []
        return list(dict.fromkeys(found))

    def _range_of(
        self, config: PravegaConfig, context: Context, name: StreamName, condition: MoveCondition
    ) -> RunRange:
        watch = self._watches.get(name)
        if watch is None or watch.condition != condition:
            watch = self._watches[name] = watch_of(condition)
        fired = (self.fired or {}).get("ranges", {}).get(str(name))
        _check_since(self.since)
        arguments = self.range_arguments(context, str(name))
        judge = self._judges.setdefault(name, Judge(context["task"]))
        return RunRange(config, arguments, context, watch, fired, judge, self._consumers.get(name))

    def _explain(
        self,
        context: Context,
        ranges: list[tuple[RunRange, dict[str, str] | None]],
        waiting: list[RunRange],
        condition: MoveCondition,
    ) -> None:
        """Say for which streams it waits."""
        about = [
            f"{each.stream} (for {each.waits_for.identity}, {each.waits_for.state.value})"
            if each.waits_for is not None
            else str(each.stream)
            for each in waiting[:_MOST_SHOWN]
        ]
        more = f" and {len(waiting) - _MOST_SHOWN} others" if len(waiting) > _MOST_SHOWN else ""
        text = f"waiting for {len(waiting)} of {len(ranges)} streams, not yet {condition}: {', '.join(about)}{more}"
        if not ranges:
            text = f"waiting: there is no stream {self.stream}"
        self.log.info(text)
        if any(each.waits_for for each in waiting):
            self.explain_text(context, ", ".join(about), text)

    def wait_until_reachable(self) -> None:
        """Defer until the cluster answers again."""
        scope = PravegaHook(self.pravega_conn_id).get_config().scope
        first = next(
            (StreamName.parse(name, scope) for name, is_pattern in _parsed(self.streams, scope) if not is_pattern), None
        )
        if first is not None:
            self.wait_with(PravegaReachableTrigger, first)
        of, patterns = _patterns_of(self.streams, scope)
        # No name is known: the first answer is news.
        self.wait_with(
            PravegaStreamsTrigger, self.stream, waits=[], wait_for="all", scope=of, patterns=patterns, known=[""]
        )


def _check_since(since: object) -> None:
    if since not in _STARTS:
        raise ConfigurationError(f"since is {since!r}, but must be one of {_STARTS}: a cut is of one stream")


def _parsed(names: Sequence[str], scope: str | None) -> list[tuple[str, bool]]:
    """Names of streams and patterns, with their scopes; True for patterns.

    Raises:
        ConfigurationError: one is neither a name nor a pattern of names in a scope.
    """
    found: list[tuple[str, bool]] = []
    for name in names:
        of, slash, pattern = name.rpartition("/")
        if not any(mark in pattern for mark in _PATTERN_MARKS):
            found.append((str(StreamName.parse(name, scope)), False))
            continue
        of = of if slash else scope or ""
        check_name("scope", of)
        found.append((f"{of}/{pattern}", True))
    return found


def _patterns_of(names: Sequence[str], scope: str | None) -> tuple[str | None, list[str]]:
    """The one scope of all patterns, and the patterns; None if there are none."""
    found = [name.split("/") for name, is_pattern in _parsed(names, scope) if is_pattern]
    scopes = sorted({of for of, _ in found})
    if len(scopes) > 1:
        raise ConfigurationError(f"the patterns are of {' and '.join(scopes)}: give a sensor for each scope")
    return (scopes[0] if scopes else None), [pattern for _, pattern in found]

"""The sensor that waits until dead letters of a table or a stream count, such as for a DAG that replays them."""

from collections.abc import Sequence
from typing import Any

from airflow.sdk import BaseSensorOperator, Context, PokeReturnValue

from aiopravega.errors import PravegaError
from airflow_pravega.operators.errors import CountsErrors
from airflow_pravega.tasks.arguments import whole_number
from airflow_pravega.tasks.failures import failing_for_good


class PravegaErrorsSensor(CountsErrors, BaseSensorOperator):
    """Waits until so many dead letters of a table or a stream count.

    Returns `{"table", "errors", "missing", "intervals", "sample"}`, as `PravegaErrorsCheckOperator`, whose arguments it
    takes. A poke reads the notes of the table, or the commit ledgers of the streams, and not the events of an errors
    stream: give a long `poke_interval`, and `mode="reschedule"`. While the cluster is away, it waits.

    Args:
        at_least: the number of errors to wait for. (templated)
    """

    template_fields: Sequence[str] = (*CountsErrors.template_fields, "at_least")

    def __init__(self, *, at_least: int | str = 1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.at_least = at_least

    def poke(self, context: Context) -> PokeReturnValue:
        """Count.

        Raises:
            AirflowFailException: an argument cannot work.
        """
        del context
        try:
            with failing_for_good():
                wanted = whole_number("at_least", self.at_least)
                result = self.counted()
        except PravegaError as error:
            self.log.warning("Not counted now: %s", error)
            return PokeReturnValue(False)
        self.log.info("%s: %d errors count", self.table, result["errors"])
        return PokeReturnValue(result["errors"] >= wanted, result)

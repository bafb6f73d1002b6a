"""Links from tasks to the page "Pravega": to the consumer whose range a task takes or reads, or to those of a scope.

Airflow asks for a link in the task's process, when the task has deferred or ended, and keeps the address.
"""

from collections.abc import Collection, Mapping
from urllib.parse import quote, urlencode

from airflow.providers.common.compat.sdk import TaskInstanceKey
from airflow.sdk import BaseOperator, BaseOperatorLink

from aiopravega import StreamName
from airflow_pravega.page.address import page_path


class PravegaConsumerLink(BaseOperatorLink):
    """The page of the consumer whose interval a task takes or reads: its intervals over time, and what failed.

    A task without a consumer, such as one that reads a range that somebody wrote down, has no such link.
    """

    @property
    def name(self) -> str:
        """What the button says."""
        return "Pravega consumer"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        """The address, as a path of Airflow's server; empty if there is none."""
        return str(getattr(operator, "page_of_consumer", ""))


class PravegaConsumersLink(BaseOperatorLink):
    """The page of the consumers in the scope of the stream that a task writes to, and how far they are."""

    @property
    def name(self) -> str:
        """What the button says."""
        return "Pravega consumers"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        """The address, as a path of Airflow's server; empty if there is none."""
        return str(getattr(operator, "page_of_consumers", ""))


class LinkedToConsumer:
    """An operator that takes or reads the interval of a consumer."""

    operator_extra_links: Collection[BaseOperatorLink] = (PravegaConsumerLink(),)
    page_of_consumer = ""

    def link_to_consumer(self, pravega_conn_id: str, stream: StreamName, cuts: object) -> None:
        """Lead to the consumer that a range names, if it names one."""
        if isinstance(cuts, Mapping) and "consumer" in cuts:
            query = _query(stream=str(stream), consumer=str(cuts["consumer"]))
            self.page_of_consumer = f"{_page_of(pravega_conn_id)}/consumer?{query}"


class LinkedToConsumers:
    """An operator that writes to a stream."""

    operator_extra_links: Collection[BaseOperatorLink] = (PravegaConsumersLink(),)
    page_of_consumers = ""

    def link_to_consumers(self, pravega_conn_id: str, stream: StreamName) -> None:
        """Lead to the consumers of a stream's scope."""
        self.page_of_consumers = f"{_page_of(pravega_conn_id)}?{_query(scope=stream.scope)}"


def _page_of(pravega_conn_id: str) -> str:
    return f"{page_path()}{quote(pravega_conn_id, safe='')}"


def _query(**values: str) -> str:
    return urlencode(values, quote_via=quote, safe="")

"""Links from tasks to the page "Pravega" of a stream or a consumer, and to Spark's pages.

A task stores an address as soon as it knows it, so that the link works while the task runs. Airflow asks for each link
again, in the task's process, when the task has deferred or ended.
"""

from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import quote, urlencode

from airflow.providers.common.compat.sdk import TaskInstanceKey, XCom
from airflow.sdk import BaseOperator, BaseOperatorLink, Context

from aiopravega import StreamName
from airflow_pravega.page import page_path


class _StoredLink(BaseOperatorLink):
    """A link with an address that the task has stored among its XComs."""

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        """The stored address; empty if there is none."""
        return str(XCom.get_value(ti_key=ti_key, key=self.xcom_key) or "")


class PravegaStreamLink(_StoredLink):
    """The page of the stream that a task works on: its data, its configuration, its readers.

    The address is a path of Airflow's server.
    """

    @property
    def name(self) -> str:
        """The text of the button."""
        return "Pravega stream"


class PravegaConsumerLink(_StoredLink):
    """The page of the consumer whose interval a task takes or reads: its intervals over time, and their failures.

    The address is a path of Airflow's server. A task without a consumer, such as one that reads a range that a user has
    written in the DAG, does not have this link.
    """

    @property
    def name(self) -> str:
        """The text of the button."""
        return "Pravega consumer"


class PravegaSparkLink(_StoredLink):
    """Spark's pages for a task, if its settings switch them on: the session's while it runs, then the history's."""

    @property
    def name(self) -> str:
        """The text of the button."""
        return "Spark"


def store_link(context: Context, link: BaseOperatorLink, address: str) -> None:
    """Let a link of the running task lead to an address; an empty one takes the link away."""
    context["ti"].xcom_push(key=link.xcom_key, value=address)


def store_last_link(context: Context, link: BaseOperatorLink, address: str, log: Any) -> None:
    """Store a link when a task ends; if that fails, only warn, so that the task keeps its own result or error."""
    try:
        store_link(context, link, address)
    except Exception as error:  # noqa: BLE001 - the task's own error counts, whatever Airflow's server says
        log.warning("The link %r of this task is not stored: %s", link.name, error)


class LinkedToStream:
    """An operator that works on a stream."""

    operator_extra_links: Collection[BaseOperatorLink] = (PravegaStreamLink(),)
    pravega_conn_id: str
    # A sensor that is not deferred checks many times, and stores each address once.
    _stored: frozenset[tuple[str, str]] = frozenset()

    def link_to_stream(self, context: Context, stream: StreamName) -> None:
        """Store the link to the stream's page."""
        self._lead(context, PravegaStreamLink(), "stream", stream=str(stream))

    def _lead(self, context: Context, link: BaseOperatorLink, page: str, **query: str) -> None:
        connection = quote(self.pravega_conn_id, safe="")
        address = f"{page_path()}{connection}/{page}?{urlencode(query, quote_via=quote, safe='')}"
        if (link.xcom_key, address) not in self._stored:
            store_link(context, link, address)
            self._stored |= {(link.xcom_key, address)}


class LinkedToConsumer(LinkedToStream):
    """An operator that takes or reads the interval of a consumer."""

    operator_extra_links: Collection[BaseOperatorLink] = (PravegaStreamLink(), PravegaConsumerLink())

    def link_to_consumer(self, context: Context, stream: StreamName, cuts: object) -> None:
        """Store the links to the stream's page, and to the page of the consumer that a range names, if any."""
        self.link_to_stream(context, stream)
        if isinstance(cuts, Mapping) and "consumer" in cuts:
            self._lead(context, PravegaConsumerLink(), "consumer", stream=str(stream), consumer=str(cuts["consumer"]))

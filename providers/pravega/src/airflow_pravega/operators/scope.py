"""Operators that make and delete scopes. They may run again: they succeed if the scope is there, or gone, already."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from airflow.sdk import Context

from aiopravega.blocking import PravegaClient
from aiopravega.names import check_name
from airflow_pravega.hooks.pravega import PravegaHook
from airflow_pravega.tasks.arguments import check_word
from airflow_pravega.tasks.failures import failing_for_good
from airflow_pravega.tasks.templates import TemplatedTexts


class _PravegaScopeOperator(TemplatedTexts):
    """An operator that works on one scope."""

    template_fields: Sequence[str] = ("scope", "pravega_conn_id")

    def __init__(self, *, scope: str, pravega_conn_id: str = PravegaHook.default_conn_name, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        check_word("scope", scope)
        self.scope = scope
        self.pravega_conn_id = pravega_conn_id

    def execute(self, context: Context) -> bool:
        """Connect and work.

        Raises:
            AirflowFailException: an argument cannot work.
            PravegaError: the cluster cannot be reached.
        """
        del context
        with failing_for_good():
            check_name("scope", self.scope)
            with PravegaHook(self.pravega_conn_id).get_client() as client:
                return self.work(client)

    @abstractmethod
    def work(self, client: PravegaClient) -> bool:
        """Do the operator's work; the result goes to XCom."""


class PravegaCreateScopeOperator(_PravegaScopeOperator):
    """Makes a scope; returns True if it was missing.

    Args:
        scope: its name. (templated)
        pravega_conn_id: id of the connection. (templated)
    """

    def work(self, client: PravegaClient) -> bool:
        """Make the scope."""
        made = client.create_scope(self.scope)
        self.log.info("Scope %s %s", self.scope, "is made" if made else "was there")
        return made


class PravegaDeleteScopeOperator(_PravegaScopeOperator):
    """Deletes an empty scope; returns whether it was there.

    Args:
        scope: its name. (templated)
        pravega_conn_id: id of the connection. (templated)
    """

    def work(self, client: PravegaClient) -> bool:
        """Delete the scope."""
        deleted = client.delete_scope(self.scope)
        self.log.info("Scope %s %s", self.scope, "is deleted" if deleted else "was not there")
        return deleted

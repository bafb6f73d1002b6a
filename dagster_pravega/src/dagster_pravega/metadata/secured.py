"""The base class of resources of servers: credentials, and a client that lives as long as a run."""

from abc import abstractmethod
from typing import Any, Final, Generic, TypeVar

from dagster import ConfigurableResource, InitResourceContext
from pydantic import ConfigDict, Field, PrivateAttr

from dagster_pravega.metadata.failures import failing_for_good

R = TypeVar("R")
# Dagster's own mark for fields whose values its pages hide.
SECRET: Final[dict[str, Any]] = {"dagster__is_secret": True}
# Of resources and run configs: Dagster's own let a misspelled field pass, and the run would go to another cluster or
# range. The error does not show the value, which may be a secret.
STRICT: Final = ConfigDict(extra="forbid", hide_input_in_errors=True)


class SecuredResource(ConfigurableResource[R], Generic[R]):
    """A server, and credentials. The first call that needs its blocking client makes it, once for a run or step.

    So a failure belongs to the step of the call. A run checks the configuration when it sets the resource up.
    """

    model_config = STRICT

    username: str | None = Field(default=None, description="name for Basic authentication, together with the password")
    password: str | None = Field(
        default=None, description="password for Basic authentication", repr=False, json_schema_extra=SECRET
    )
    token: str | None = Field(
        default=None,
        description="token for Bearer authentication, instead of name and password",
        repr=False,
        json_schema_extra=SECRET,
    )
    token_source: str | None = Field(
        default=None,
        description="where a token that ends comes from: file:, command:, function:, keycloak: or oauth2:",
    )

    _opened: Any = PrivateAttr(default=None)

    @abstractmethod
    def get_config(self) -> Any:
        """The configuration of the client.

        Raises:
            ConfigurationError: a field is not valid.
        """

    def setup_for_execution(self, context: InitResourceContext) -> None:
        """Check the configuration; called by Dagster.

        Raises:
            Failure: a field is not valid.
        """
        with failing_for_good():
            self.get_config()

    def teardown_after_execution(self, context: InitResourceContext) -> None:
        """Close the connections; called by Dagster."""
        self.close()

    @property
    def is_closed(self) -> bool:
        """True if no connection is open."""
        return self._opened is None

    def close(self) -> None:
        """Close the connections; the next call opens them again."""
        opened, self._opened = self._opened, None
        if opened is not None:
            opened.close()

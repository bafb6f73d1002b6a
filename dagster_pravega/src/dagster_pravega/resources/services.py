"""The resource by which programs beside Pravega are asked for their health: Flink, Debezium Server."""

from dagster import ConfigurableResource, InitResourceContext
from pydantic import Field

from dagster_pravega.metadata.failures import failing_for_good
from dagster_pravega.metadata.secured import SECRET, STRICT
from pravega_jobs.services.http_json import HttpServer


class HttpServiceResource(ConfigurableResource["HttpServiceResource"]):
    """The HTTP interface of a Flink cluster (`http://host:8081`), or of a Debezium Server (`http://host:8080`).

    Give secrets as `dagster.EnvVar`: Dagster stores the name of the variable then, not its value.
    """

    model_config = STRICT

    uri: str = Field(description="http://host:port or https://host:port, maybe with a path before all others")
    timeout: float = Field(default=10.0, description="limit for a whole answer, in seconds")
    username: str | None = Field(default=None, description="name for Basic authentication, together with the password")
    password: str | None = Field(
        default=None, description="password for Basic authentication", repr=False, json_schema_extra=SECRET
    )
    token: str | None = Field(
        default=None, description="token for Bearer authentication", repr=False, json_schema_extra=SECRET
    )
    ca_file: str | None = Field(
        default=None, description="PEM file of the certificate authority, for https://; default the system's"
    )

    def get_server(self) -> HttpServer:
        """The server with its limits and credentials.

        Raises:
            ConfigurationError: a field is not valid.
        """
        return HttpServer(**{name: getattr(self, name) for name in type(self).model_fields})

    def setup_for_execution(self, context: InitResourceContext) -> None:
        """Check the configuration; called by Dagster.

        Raises:
            Failure: a field is not valid.
        """
        with failing_for_good():
            self.get_server()

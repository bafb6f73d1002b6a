"""Parts of components' files that make resources: clusters, registries, Spark, databases.

Secrets are names of variables of the environment: Dagster keeps the configuration of a resource in its database, as it
is in the code. A name stays a name there.

Files with equal parts share one object: Dagster refuses a project in which two files make resources of one key, unless
both are the same object.
"""

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, Final, TypeVar

import dagster as dg
from dagster.components.component_scaffolding import scaffold_component
from pydantic import AfterValidator, Field, WithJsonSchema

from dagster_pravega.components.fields import (
    NO_SECRETS,
    VARIABLE,
    Options,
    Variable,
    check_variable,
    matching,
    texts_of,
    texts_without,
)
from dagster_pravega.components.yaml_part import YamlPart, refused
from dagster_pravega.io.arrow_io import PravegaArrowIOManager
from dagster_pravega.io.io_manager import PravegaSparkIOManager
from dagster_pravega.resources.resource import PravegaResource
from dagster_pravega.resources.schema_registry import SchemaRegistryResource
from dagster_pravega.resources.stores import LandingDatabase
from pravega_jobs.spark.options import is_secret_option
from pravega_jobs.spark.session import LOCAL

R = TypeVar("R")
OF_VARIABLE: Final = "_env"
# Spark hides the values of settings with such names on its pages; Dagster does not.
_SECRETS: Final = "[sS]ecret|[pP]assword|[tT]oken|[aA]ccess[.]?[kK]ey|[cC]redential"
_SOURCES: Final = "^(file|command|function|keycloak|oauth2):"
_made: list[tuple[Any, Any]] = []


def way_out(secret: str) -> str:
    """The text about a field that would have a secret."""
    return (
        f"{secret} would be kept in Dagster's database, also from a template such as '{{{{ env.X }}}}': give "
        f"{secret}{OF_VARIABLE}, the name of a variable of the environment that has it where the code runs"
    )


def _settings_without_secrets(settings: Mapping[str, str]) -> Mapping[str, str]:
    for name in settings:
        if re.search(_SECRETS, name):
            raise refused(
                f"{name} would be kept in Dagster's database: put it into spark-defaults.conf, or into the "
                "environment, where Spark's driver runs",
                name,
            )
    return settings


def _options_without_secrets(options: Mapping[str, Any]) -> Mapping[str, Any]:
    for name, value in options.items():
        if is_secret_option(name):
            raise refused(way_out(name), name)
        if is_secret_option(name.removesuffix(OF_VARIABLE)):
            check_variable(str(value))
    return options


def _master_without_token(master: str) -> str:
    if "token=" in master:
        raise refused(
            "the token would be kept in Dagster's database: set SPARK_CONNECT_AUTHENTICATE_TOKEN where the code runs"
        )
    return master


def _token_source(source: str) -> str:
    if not re.match(_SOURCES, source):
        raise refused(
            "it does not say where the token comes from: write file:PATH, or another kind. A token itself would be "
            "kept in Dagster's database: give token_env"
        )
    return source


class ResourcePart(YamlPart):
    """The fields of a resource. A field whose name ends with `_env` has the name of a variable."""

    def fields_of_resource(self) -> dict[str, Any]:
        """The fields that are given, as Dagster's resources take them; secrets are names of variables."""
        given = {name: getattr(self, name) for name in type(self).model_fields}
        return {
            name.removesuffix(OF_VARIABLE): dg.EnvVar(value) if name.endswith(OF_VARIABLE) else value
            for name, value in given.items()
            if value is not None
        }


class ServerPart(ResourcePart):
    """Credentials of a server."""

    instead: ClassVar[Mapping[str, str]] = {secret: way_out(secret) for secret in ("password", "token")}

    username: str | None = Field(default=None, description="name for Basic authentication, with password_env")
    password_env: Annotated[Variable | None, VARIABLE] = Field(
        default=None, description="name of the variable of the environment that has the password"
    )
    token_env: Annotated[Variable | None, VARIABLE] = Field(
        default=None, description="name of the variable of the environment that has a token, instead of a password"
    )
    token_source: (
        Annotated[
            str,
            AfterValidator(_token_source),
            WithJsonSchema(matching(_SOURCES, "file:PATH, or command:, function:, keycloak:, oauth2:")),
        ]
        | None
    ) = Field(
        default=None,
        description="where a token that ends comes from: file:, command:, function:, keycloak: or oauth2:",
        examples=["file:/run/secrets/token"],
    )
    ca_file: str | None = Field(
        default=None, description="PEM file of the certificate authority, if connections are encrypted"
    )


class Connection(ServerPart):
    """A cluster of Pravega. Fields that are not given come from the environment (`PRAVEGA_CONTROLLER_URI`, …)."""

    controller_uri: str | None = Field(
        default=None,
        description="tcp://host:port or tls://host:port of the controller",
        examples=["tls://pravega.example.org:9090"],
    )
    scope: str | None = Field(default=None, description="scope of streams that are named without one")
    verify_hostname: bool | None = Field(
        default=None, description="check that the servers' certificates contain their names; default true"
    )
    max_event_bytes: int | None = Field(default=None, gt=0, description="the longest event that a reader accepts")
    connect_timeout: float | None = Field(default=None, gt=0, description="limit for opening a connection, in seconds")
    request_timeout: float | None = Field(default=None, gt=0, description="limit for one answer, in seconds")
    retry_timeout: float | None = Field(default=None, ge=0, description="limit for all attempts, in seconds")

    def resource(self) -> PravegaResource:
        """The resource of this cluster; this process makes it once."""
        return shared(self, lambda: PravegaResource(**self.fields_of_resource()))


class Registry(ServerPart):
    """A Schema Registry. An address that is not given comes from the environment (`PRAVEGA_SCHEMA_REGISTRY_URI`)."""

    uri: str | None = Field(
        default=None, description="http://host:port, or https://host:port", examples=["https://registry:9092"]
    )
    verify_hostname: bool = Field(default=True, description="check that the server's certificate contains its name")

    def resource(self) -> SchemaRegistryResource:
        """The resource of this registry."""
        return SchemaRegistryResource(**self.fields_of_resource())


class Database(ResourcePart):
    """A database of PostgreSQL. Its address may have a password, so a variable has it."""

    instead: ClassVar[Mapping[str, str]] = {"dsn": way_out("dsn")}

    dsn_env: Annotated[Variable, VARIABLE] = Field(
        description="name of the variable that has the address: postgresql://user@host/database",
        examples=["SHOP_DSN"],
    )

    def resource(self) -> LandingDatabase:
        """The resource of this database; this process makes it once."""
        return shared(self, lambda: LandingDatabase(**self.fields_of_resource()))


class Spark(ResourcePart):
    """Fields of `PravegaSparkIOManager`."""

    master: Annotated[
        str,
        AfterValidator(_master_without_token),
        WithJsonSchema(matching("^(?!.*token=)", "a master without its token")),
    ] = Field(default=LOCAL, description="Spark's master, if the process has no session yet", examples=["local[2]"])
    spark_conf: Annotated[
        Mapping[str, str],
        AfterValidator(_settings_without_secrets),
        WithJsonSchema(texts_without(f"^(?!.*({_SECRETS}))", "a setting that is not a secret")),
    ] = Field(
        default={},
        description="settings of a new Spark session; not for credentials",
        examples=[{"spark.sql.shuffle.partitions": "8"}],
    )
    options: Annotated[
        Mapping[str, str | int | float | bool],
        AfterValidator(_options_without_secrets),
        WithJsonSchema(NO_SECRETS),
    ] = Field(
        default={},
        description="more options of the data source; of secrets the variable, as schema_registry_password_env",
        examples=[{"commit_ledger": "examples/writes"}],
    )
    preview_events: int = Field(
        default=0, ge=0, description="number of written events that a materialization shows, to all who can see it"
    )

    def manager(self, connection: Connection) -> PravegaSparkIOManager:
        """The IO manager of a cluster; this process makes it once."""
        pravega = connection.resource()
        fields = self.fields_of_resource()
        fields["options"] = {
            name.removesuffix(OF_VARIABLE) if secret else name: dg.EnvVar(text) if secret else text
            for name, text in texts_of(self.options).items()
            for secret in (is_secret_option(name.removesuffix(OF_VARIABLE)),)
        }
        return shared((self, connection), lambda: PravegaSparkIOManager(pravega=pravega, **fields))


class Arrow(ResourcePart):
    """Fields of `PravegaArrowIOManager`."""

    registry: Registry | None = Field(
        default=None, description="the Schema Registry; {} is the one of the environment", examples=[{}]
    )
    options: Options = Field(default={}, description="more options of reads and writes; not for secrets")

    def manager(self, connection: Connection) -> PravegaArrowIOManager:
        """The IO manager of a cluster; this process makes it once."""
        pravega, registry = connection.resource(), None if self.registry is None else self.registry.resource()
        options = texts_of(self.options)

        def make() -> PravegaArrowIOManager:
            return PravegaArrowIOManager(pravega=pravega, schema_registry=registry, options=options)

        return shared((self, connection), make)


def shared(part: Any, make: Callable[[], R]) -> R:
    """The resource of a part; equal parts of a process have one."""
    for known, resource in _made:
        if type(known) is type(part) and known == part:
            found: R = resource
            return found
    made = make()
    _made.append((part, made))
    return made


def scaffolder(attributes: Mapping[str, Any]) -> type[dg.Scaffolder]:
    """A class that writes a file with these attributes, and a connection, as an example of a component."""

    class Example(dg.Scaffolder):
        """The example that `dg scaffold defs` writes."""

        def scaffold(self, request: dg.ScaffoldRequest) -> None:
            """Write the file."""
            scaffold_component(request, {**attributes, "connection": {}})

    return Example

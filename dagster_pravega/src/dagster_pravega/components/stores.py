"""Parts of components' files that make resources of tables: object stores, and catalogs of Iceberg."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final, TypeAlias

import dagster as dg
from pydantic import AfterValidator, Field, WithJsonSchema

from dagster_pravega.components.connection import OF_VARIABLE, ResourcePart, shared, way_out
from dagster_pravega.components.fields import VARIABLE, Variable, check_variable, matching, texts_of, texts_without
from dagster_pravega.components.yaml_part import YamlPart, refused
from dagster_pravega.resources.stores import IcebergCatalog, ObjectStore

# Names of properties and options whose values may be secrets.
_SECRETS: Final = "[sS]ecret|SECRET|[tT]oken|TOKEN|[cC]redential|[pP]assword|[kK]ey|KEY|[sS]as|SAS|header[.]"


def _without_secrets(texts: Mapping[str, Any]) -> Mapping[str, Any]:
    for name, value in texts.items():
        if name.endswith(OF_VARIABLE):
            check_variable(str(value))
        elif re.search(_SECRETS, name):
            raise refused(way_out(name), name)
    return texts


def _without_user(address: str) -> str:
    if "@" in address:
        raise refused(way_out("uri"))
    return address


Texts: TypeAlias = Annotated[
    Mapping[str, str | int | float | bool],
    AfterValidator(_without_secrets),
    WithJsonSchema(texts_without(f"^((?!.*({_SECRETS}))|.*{OF_VARIABLE}$)", "a name of a secret with _env behind it")),
]


def _with_variables(texts: Mapping[str, Any]) -> dict[str, Any]:
    """Texts as resources take them: names that end with `_env` have variables."""
    return {
        name.removesuffix(OF_VARIABLE): dg.EnvVar(text) if name.endswith(OF_VARIABLE) else text
        for name, text in texts_of(texts).items()
    }


class Store(ResourcePart):
    """An object store. What is not given comes from the environment (`AWS_…`, …), or from the machine."""

    instead: ClassVar[Mapping[str, str]] = {
        secret: way_out(secret) for secret in ("access_key_id", "secret_access_key", "session_token")
    }

    access_key_id_env: Annotated[Variable | None, VARIABLE] = Field(
        default=None, description="name of the variable of the environment that has the id of a key of S3"
    )
    secret_access_key_env: Annotated[Variable | None, VARIABLE] = Field(
        default=None, description="name of the variable that has the secret of the key"
    )
    session_token_env: Annotated[Variable | None, VARIABLE] = Field(
        default=None, description="name of the variable that has the token of a key that ends"
    )
    region: str | None = Field(default=None, description="the region of S3", examples=["eu-central-1"])
    endpoint_url: str | None = Field(
        default=None, description="the address of a store that speaks S3", examples=["https://s3.example.org"]
    )
    options: Texts = Field(
        default={},
        description="more options, as obstore and deltalake name them; of secrets the variable",
        examples=[{"azure_storage_account_key_env": "LAKE_KEY"}],
    )

    def resource(self) -> ObjectStore:
        """The resource of this store; this process makes it once."""
        fields = {**self.fields_of_resource(), "options": _with_variables(self.options)}
        return shared(self, lambda: ObjectStore(**fields))


class Catalog(ResourcePart):
    """A catalog of Iceberg. Properties of pyiceberg's configuration under its name are added."""

    instead: ClassVar[Mapping[str, str]] = {secret: way_out(secret) for secret in ("credential", "token")}

    name: str = Field(default="default", description="the name of the catalog in pyiceberg's configuration")
    type: str | None = Field(
        default=None, description="the kind: rest, sql, glue or hive; by default as in the address", examples=["rest"]
    )
    uri: (
        Annotated[
            str,
            AfterValidator(_without_user),
            WithJsonSchema(matching("^[^@]*$", "an address without a user: uri_env has others")),
        ]
        | None
    ) = Field(default=None, description="the address of the catalog", examples=["https://catalog.example.org"])
    uri_env: Annotated[Variable | None, VARIABLE] = Field(
        default=None, description="name of the variable that has the address, if it has a password"
    )
    warehouse: str | None = Field(default=None, description="the warehouse, or where new tables are")
    credential_env: Annotated[Variable | None, VARIABLE] = Field(
        default=None, description="name of the variable that has id and secret of a client, with : between them"
    )
    token_env: Annotated[Variable | None, VARIABLE] = Field(
        default=None, description="name of the variable that has a bearer token"
    )
    properties: Texts = Field(
        default={},
        description="more properties of pyiceberg; of secrets the variable",
        examples=[{"s3.region": "eu-central-1"}],
    )

    def resource(self) -> IcebergCatalog:
        """The resource of this catalog; this process makes it once."""
        fields = {**self.fields_of_resource(), "properties": _with_variables(self.properties)}
        return shared(self, lambda: IcebergCatalog(**fields))


class TablePart(YamlPart):
    """The catalog and the object store of a component's tables, if it has them."""

    catalog: Catalog | None = Field(
        default=None, description="the catalog of Iceberg that has the tables: names are such as `namespace.table` then"
    )
    catalog_key: str | None = Field(
        default=None,
        description="key of the IcebergCatalog; by default the resource key and `_catalog`, with `catalog`",
    )
    store: Store | None = Field(default=None, description="the object store that has the tables' files")
    store_key: str | None = Field(
        default=None, description="key of the ObjectStore; by default the resource key and `_store`, with `store`"
    )

    def table_keys(self, resource_key: str) -> dict[str, Any]:
        """The keys of both, as arguments of assets; None: there is none."""
        return {
            "catalog_key": self.catalog_key or (None if self.catalog is None else f"{resource_key}_catalog"),
            "store_key": self.store_key or (None if self.store is None else f"{resource_key}_store"),
        }

    def table_resources(self, resource_key: str) -> dict[str, Any]:
        """The resources of both, as far as the file makes them, by their keys."""
        keys = self.table_keys(resource_key)
        parts = {keys["catalog_key"]: self.catalog, keys["store_key"]: self.store}
        return {key: part.resource() for key, part in parts.items() if part is not None}

"""Tables of Spark's catalog that are streams; a table keeps the options with which it was made in its columns.

For `CREATE TABLE … USING pravega OPTIONS (…)`, Spark (4.1 to 4.3 at least) gives the options only to the source that
names the columns. A reader of the table gets the columns, as the catalog keeps them, and no options. So the options are
kept in the metadata of the first column. All users of the catalog could read a secret there: it is refused. So is a
source of tokens: it would name a file or a program of each user who reads the table.
"""

import json
from collections.abc import Mapping
from typing import Final

from pyspark.sql.types import StructField, StructType

from aiopravega.errors import ConfigurationError

_KEPT: Final = "pravega.options"
# Spark's catalog adds these to the options when a table is made: its own properties, and all options once more.
_PROVIDER: Final = "provider"
_OPTION: Final = "option."
# Options that no catalog may keep, and the variables of the environment that can give them.
SECRETS: Final[Mapping[str, str]] = {
    "password": "PRAVEGA_PASSWORD",
    "token": "PRAVEGA_TOKEN",
    "token_source": "PRAVEGA_TOKEN_SOURCE",
    "schema_registry_password": "PRAVEGA_PASSWORD",
    "schema_registry_token": "PRAVEGA_TOKEN",
    "schema_registry_token_source": "PRAVEGA_TOKEN_SOURCE",
}


def statement_options(options: Mapping[str, str]) -> dict[str, str] | None:
    """The options of the statement that makes a table; None if no table is being made.

    Raises:
        ConfigurationError: an option is secret.
    """
    given = {name.lower(): text for name, text in options.items()}
    if _PROVIDER not in given:
        return None
    own = {name.removeprefix(_OPTION): text for name, text in given.items() if name.startswith(_OPTION)}
    for secret, variable in SECRETS.items():
        if own.get(secret):
            raise ConfigurationError(
                f"option {secret!r} would be in the catalog, where all could read it: leave it out of the table's "
                f"options, and set {variable} where Spark's driver runs, or make a temporary view"
            )
    return own


def with_options(schema: StructType, options: Mapping[str, str]) -> StructType:
    """The columns of a table, with its options in their metadata."""
    first, *others = schema.fields
    metadata = {**(first.metadata or {}), _KEPT: json.dumps(dict(sorted(options.items())))}
    return StructType([StructField(first.name, first.dataType, first.nullable, metadata), *others])


def kept_options(schema: StructType) -> dict[str, str]:
    """The options that the columns of a table keep; empty for a table of another source."""
    for field in schema.fields:
        kept = (field.metadata or {}).get(_KEPT)
        if kept is not None:
            return {str(name): str(text) for name, text in json.loads(kept).items()}
    return {}

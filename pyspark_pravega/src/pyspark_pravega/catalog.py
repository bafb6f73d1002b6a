"""A scope as a database of Spark: every stream a table."""

import logging
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pyspark.errors import PySparkException

from aiopravega.errors import AlreadyExistsError, ConfigurationError, GroupNotFoundError, PravegaError
from aiopravega.names import StreamName
from pravega_jobs.retries import error_in
from pravega_jobs.spark.options import FORMAT
from pyspark_pravega.table import SECRETS, kept_options

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

logger = logging.getLogger(__name__)

_CATALOG: Final = "spark_catalog"
_REGISTRY: Final = "schema_registry_uri"
_REGISTRY_VARIABLE: Final = "PRAVEGA_SCHEMA_REGISTRY_URI"
_DECODE: Final = "decode"
# Options that name the streams of a read; here they follow from the scope.
_OF_ONE_STREAM: Final = ("scope", "stream", "streams", "metadata")
# Characters of an error of Spark that are logged: it may have a whole stack.
_LONGEST_SHOWN: Final = 500
# Characters that Spark's own catalog refuses in names of databases and tables.
_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9_]")


@dataclass(frozen=True, slots=True)
class RegisteredStream:
    """A stream that Spark knows by name.

    `table` is the name as SQL and `spark.table` take it. `typed` is True if the columns are the fields of the events,
    `temporary` if the table is a view that ends with the session.
    """

    stream: StreamName
    table: str
    typed: bool
    temporary: bool


def register_scope(
    spark: "SparkSession",
    scope: str,
    *,
    database: str | None = None,
    names: Mapping[str, str] | None = None,
    views: bool = False,
    default: Mapping[str, object] | None = None,
    **options: object,
) -> list[RegisteredStream]:
    """Make every stream of a scope a table, in a database that is made if there is none.

    If the Schema Registry has a group for a stream, the table has the fields of its events as columns (`decode=auto`,
    in the version that is newest now). Otherwise it has the columns of the format `default`, or the bytes of the
    events. Tables that an earlier call made are replaced; tables of streams that are gone stay. The function works on
    Spark and on Spark Connect, where the server reaches Pravega.

    If the session's catalog takes no database, or an option is secret, which a catalog may not keep, temporary views
    are made instead, named `database_table`. A view always reads the range that it has when it is first used; each
    query of a table reads the stream as it is then.

    Args:
        spark: the session.
        scope: the scope whose streams are registered, without Pravega's internal ones.
        database: its name; by default the scope's, with `_` for characters that a name cannot have.
        names: the tables of some streams, by stream; by default the stream's name, changed in the same way.
        views: make temporary views in any case.
        default: options of the format of streams without a group in the registry, such as `decode` and `columns`.
        **options: options of the data source, for all streams; others come from the environment of the driver.

    Raises:
        ConfigurationError: an option cannot work, or two streams would have one name.
        AlreadyExistsError: a table of another source has the name of a stream.
        ScopeNotFoundError: there is no such scope.
        PravegaError: the cluster or the registry cannot be reached, or refuses.
    """
    given, fallback = _texts(options), _texts(default or {})
    if fallback and (_DECODE not in fallback or _DECODE in given):
        raise ConfigurationError(
            "default= has the format of streams that the registry does not know: it needs decode, and the other "
            "options must not have decode, which is for all streams"
        )
    wrong = [name for name in _OF_ONE_STREAM if name in given or name in fallback]
    if wrong:
        raise ConfigurationError(f"option {wrong[0]!r} is of one read, but register_scope is for all of a scope")
    if _REGISTRY not in given and _REGISTRY_VARIABLE in os.environ:
        given[_REGISTRY] = os.environ[_REGISTRY_VARIABLE]
    namespace = database or _NOT_IN_NAMES.sub("_", scope)
    tables = _table_names(_streams(spark, scope, given), names or {})
    secret = next((name for name in SECRETS if given.get(name) or fallback.get(name)), None)
    if secret is not None:
        logger.info("Making temporary views of scope %s: option %s is not for a catalog", scope, secret)
    if not views and secret is None and _has_database(spark, namespace):
        return [
            _make_table(spark, stream, f"`{namespace}`.`{table}`", given, fallback) for stream, table in tables.items()
        ]
    return [_make_view(spark, stream, f"`{namespace}_{table}`", given, fallback) for stream, table in tables.items()]


def _texts(options: Mapping[str, object]) -> dict[str, str]:
    return {name.lower(): str(value) for name, value in options.items()}


def _streams(spark: "SparkSession", scope: str, options: Mapping[str, str]) -> list[StreamName]:
    """The streams that Spark can list; its server may be nearer to Pravega than this process."""
    of_events = (_REGISTRY, _DECODE)
    reader = spark.read.format(FORMAT).options(**{k: v for k, v in options.items() if k not in of_events})
    try:
        rows = reader.options(scope=scope, metadata="Streams").load().collect()
    except PySparkException as error:
        raise _ours(error) from error
    return sorted(StreamName(row.scope_name, row.stream_name) for row in rows)


def _table_names(streams: list[StreamName], names: Mapping[str, str]) -> dict[StreamName, str]:
    unknown = sorted(set(names) - {stream.stream for stream in streams})
    if unknown:
        raise ConfigurationError(f"names has {', '.join(unknown)}, but the scope has no such stream")
    tables = {stream: names.get(stream.stream, _NOT_IN_NAMES.sub("_", stream.stream)) for stream in streams}
    owners: dict[str, StreamName] = {}
    for stream, table in tables.items():
        if _NOT_IN_NAMES.search(table):
            raise ConfigurationError(f"a table cannot be named {table!r}: use letters, digits and _")
        other = owners.setdefault(table.lower(), stream)  # Spark's names have no case
        if other != stream:
            raise ConfigurationError(
                f"{other} and {stream} would both be table {table!r}: give one of them another name by names="
            )
    return tables


def _has_database(spark: "SparkSession", database: str) -> bool:
    """Make the database; False where the session's catalog does not take one."""
    try:
        spark.sql(f"CREATE DATABASE IF NOT EXISTS {_CATALOG}.`{database}`").collect()
    except Exception as error:  # noqa: BLE001 - some errors come from the JVM without a class of Spark's
        reason = str(error)[:_LONGEST_SHOWN]
        logger.warning("Making temporary views, because the catalog takes no database %s: %s", database, reason)
        return False
    return True


def _make_table(
    spark: "SparkSession", stream: StreamName, table: str, options: Mapping[str, str], default: Mapping[str, str]
) -> RegisteredStream:
    full_name = f"{_CATALOG}.{table}"
    if spark.catalog.tableExists(full_name):
        if not kept_options(spark.table(full_name).schema):
            raise AlreadyExistsError(
                f"{stream} cannot be table {table}: there is another table of this name. Give it another one by "
                "names=, or another database by database="
            )
        spark.sql(f"DROP TABLE {full_name}").collect()

    def make(chosen: Mapping[str, str]) -> None:
        # The frame that it returns is collected, because Spark Connect does nothing before.
        _ = spark.catalog.createTable(full_name, source=FORMAT, **_reading(stream, chosen)).schema

    return RegisteredStream(stream, table, _typed_if_possible(stream, options, default, make), temporary=False)


def _make_view(
    spark: "SparkSession", stream: StreamName, view: str, options: Mapping[str, str], default: Mapping[str, str]
) -> RegisteredStream:
    def make(chosen: Mapping[str, str]) -> None:
        spark.read.format(FORMAT).options(**_reading(stream, chosen)).load().createOrReplaceTempView(view)

    return RegisteredStream(stream, view, _typed_if_possible(stream, options, default, make), temporary=True)


def _reading(stream: StreamName, options: Mapping[str, str]) -> dict[str, Any]:
    return {**options, "scope": stream.scope, "stream": stream.stream}


def _typed_if_possible(
    stream: StreamName,
    options: Mapping[str, str],
    default: Mapping[str, str],
    make: Callable[[Mapping[str, str]], None],
) -> bool:
    """Make a table; without the option `decode`, by the registry, or by the default if the registry has no group.

    Returns True if the table is typed.
    """
    raw = {name: value for name, value in options.items() if name != _REGISTRY}
    try:
        if _DECODE in options:
            make(options)
            return options[_DECODE].lower() != "raw"
        if _REGISTRY in options:
            try:
                make({**options, _DECODE: "auto"})
            except PySparkException as error:
                ours = _ours(error)
                if not isinstance(ours, (GroupNotFoundError, ConfigurationError)):
                    raise
                logger.info("%s is registered without columns of the registry: %s", stream, ours)
                if isinstance(ours, ConfigurationError):  # a group is there: its events begin with its header
                    default = {}
            else:
                return True
        make({**raw, **default})
    except PySparkException as error:
        raise _ours(error) from error
    return default.get(_DECODE, "raw").lower() != "raw"


def _ours(error: PySparkException) -> BaseException:
    """The source's error inside an error of Spark; if there is none, the error of Spark."""
    ours: PravegaError | None = error_in(error)
    return error if ours is None else ours

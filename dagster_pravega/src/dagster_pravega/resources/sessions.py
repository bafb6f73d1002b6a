"""The Spark session of an asset, with the settings of its run's IO manager, also before the asset has an input."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from aiopravega.errors import ConfigurationError
from pravega_jobs.spark.session import LOCAL, lasting_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NAME: Final = "dagster-pravega"

SparkSettings = tuple[str, dict[str, str]]
# Settings of the IO managers that are in use in this process now.
_in_use: list[SparkSettings] = []


def use(master: str, conf: Mapping[str, str]) -> None:
    """Let `spark_session()` use these settings, until `release`."""
    _in_use.append((master, dict(conf)))


def release(master: str, conf: Mapping[str, str]) -> None:
    """End a `use` of these settings."""
    _in_use.remove((master, dict(conf)))


def spark_session(master: str | None = None, conf: Mapping[str, str] | None = None) -> "SparkSession":
    """The session of this process, which is made if there is none. It lives as long as the process.

    Assets that need Spark before they have an input should call this: it lets Spark's workers on this machine use the
    Python of this process.

    Args:
        master: of a new session, or the URL of a Spark Connect server, `sc://host:port`, whose Python has the data
            source then. None: `master` of the run's `PravegaSparkIOManager`, or `local[*]` if there is none.
        conf: settings of a new session. None: `spark_conf` of the run's `PravegaSparkIOManager`.

    Raises:
        ConfigurationError: Spark, or Pravega's data source for it, is not installed; or the run has IO managers with
            different settings, and no settings are given here.
    """
    if master is None or conf is None:
        own_master, own_conf = _of_managers()
        master, conf = own_master if master is None else master, own_conf if conf is None else conf
    return lasting_session(_NAME, master, conf, package=_NAME)


def _of_managers() -> SparkSettings:
    if any(settings != _in_use[0] for settings in _in_use):
        raise ConfigurationError(
            "the IO managers of this run have different settings of Spark, and a process has one session: "
            f"{'; '.join(map(_shown, _in_use))}. "
            "Give them the same, or give master and conf to spark_session"
        )
    return _in_use[0] if _in_use else (LOCAL, {})


def _shown(settings: SparkSettings) -> str:
    """Settings for messages, without secrets: no values, and nothing after the host of a Spark Connect server."""
    master, conf = settings
    return f"master {master.partition(';')[0]!r}, spark_conf {sorted(conf)}"

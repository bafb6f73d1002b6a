"""A Spark session for a job: the one that runs in this process, or a new one; on this machine, a cluster, or a server.

Spark is imported when a job needs it.
"""

import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from aiopravega.errors import ConfigurationError

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

logger = logging.getLogger(__name__)

LOCAL: Final = "local[*]"
_UI: Final = "spark.ui.enabled"
# Spark's pages have no login, and its bar is drawn on the error output, where schedulers take it for errors.
_QUIET: Final = {_UI: "false", "spark.ui.showConsoleProgress": "false"}
_LOCALHOST: Final = "127.0.0.1"
_LOCAL_IP: Final = "SPARK_LOCAL_IP"
# The scheme of a Spark Connect server.
CONNECT: Final = "sc://"
CONNECT_MODULE: Final = "pyspark.sql.connect"
_MASTER: Final = "spark.master"
# Set by PySpark while it talks Spark Connect, and left behind: all of this process would continue to talk it.
_CONNECT_MODE: Final = "SPARK_CONNECT_MODE_ENABLED"


def lasting_session(name: str, master: str, conf: Mapping[str, str], *, package: str) -> "SparkSession":
    """The session of this process, which is made if there is none. It lives as long as the process.

    Args:
        name: its name in Spark's own pages.
        master: `local[*]`, `local-cluster[…]`, `spark://host:port`, `yarn`, …, or the URL of a Spark Connect server,
            `sc://host:port`, whose Python has the data source then.
        conf: Spark's settings. Credentials do not belong here: all users of the session can see them. Spark's pages and
            its progress bar are off unless these settings turn them on; on this machine, the pages are on loopback.
        package: the distribution whose extra `spark` installs Spark and its data source.

    Raises:
        ConfigurationError: Spark, or Pravega's data source for it, is not installed.
    """
    return _running(master, conf, package) or _new(name, master, conf)


@contextmanager
def session_for_block(
    name: str, master: str, conf: Mapping[str, str], *, package: str, is_own: bool = False
) -> Iterator["SparkSession"]:
    """A session that ends with the block. A session that already runs in this process is used as it is, and continues.

    Args:
        name: see `lasting_session`.
        master: the same.
        conf: the same.
        package: the same.
        is_own: refuse a session that already runs.

    Raises:
        ConfigurationError: as of `lasting_session`, or there is a session that is refused.
    """
    running = _running(master, conf, package)
    if running is not None and is_own:
        raise ConfigurationError(
            f"a session of Spark already runs in this process, but the job needs one of its own on {master}: stop the "
            "other one, or give the job a process of its own"
        )
    if running is not None:
        yield running
        return
    mode = os.environ.get(_CONNECT_MODE)
    session = _new(name, master, conf)
    try:
        yield session
    finally:
        session.stop()
        if master.startswith(CONNECT) and mode is None:
            os.environ.pop(_CONNECT_MODE, None)


def is_connect(spark: "SparkSession") -> bool:
    """True if a session talks Spark Connect: it has no JVM in reach."""
    return type(spark).__module__.startswith(CONNECT_MODULE)


def check_installed(*, is_connect: bool, package: str = "") -> None:
    """Check that what a session needs is installed here: Spark with its data source, or its client for Spark Connect.

    Args:
        is_connect: the session talks Spark Connect.
        package: the distribution whose extra `spark` installs Spark and its data source.

    Raises:
        ConfigurationError: it is not.
    """
    needed = ("pyspark", "grpc_status", "zstandard") if is_connect else ("pyspark", "pyspark_pravega")
    missing = [module for module in needed if find_spec(module) is None]
    if missing:
        what = "Spark's client for Spark Connect" if is_connect else "Spark with its data source for Pravega"
        raise ConfigurationError(
            f"the job needs {what} where it runs, but the modules {', '.join(missing)} are not installed: "
            f"pip install '{'pyspark[connect]' if is_connect else f'{package}[spark]'}'"
        )


@contextmanager
def interruptible(spark: "SparkSession", name: str) -> Iterator[Callable[[], object]]:
    """Run the jobs of a block so that the function that is yielded cancels them, whatever thread calls it."""
    mark = f"pravega-{uuid4()}"
    if is_connect(spark):
        spark.addTag(mark)
        try:
            yield partial(spark.interruptTag, mark)
        finally:
            spark.removeTag(mark)
        return
    # A group: outside Spark Connect, a tag is known only to the thread that set it.
    spark.sparkContext.setJobGroup(mark, name, interruptOnCancel=True)
    try:
        yield partial(spark.sparkContext.cancelJobGroup, mark)
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]  # None clears it


def _running(master: str, conf: Mapping[str, str], package: str) -> "SparkSession | None":
    """The session of this process, if it has one that lives, and Spark is installed as `master` needs it."""
    connect = master.startswith(CONNECT)
    check_installed(is_connect=connect, package=package)
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession

    if not connect:
        _forget_dead_spark()
    running = SparkSession.getActiveSession()
    if running is None:
        # Another thread may have made it: it would count as new here, and be stopped while it is in use.
        try:
            running = SparkSession.active()
        except PySparkRuntimeError:
            return None
        # Makes it this thread's session, without which Spark finds no data sources in Python.
        running.createDataFrame([], "id long")
    others = _differences(running, master, conf)
    if others:
        logger.warning(
            "The Spark session of this process is used as it is, with other values of %s than this job asks for: give "
            "all jobs of a process the same settings, or run this one in a process of its own",
            ", ".join(others),
        )
    return running


def _forget_dead_spark() -> None:
    """Make room for a new session if the JVM of this process's Spark has died.

    PySpark keeps such a Spark as the one of this process, and every later job would fail with it.
    """
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    context = SparkContext._active_spark_context  # noqa: SLF001 - PySpark has no call for it
    if context is None or _is_alive(context):
        return
    logger.warning("The JVM of this process's Spark has died: Spark is started again")
    SparkContext._active_spark_context = None  # noqa: SLF001 - PySpark has no call for it
    SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001 - PySpark has no call for it
    SparkSession._instantiatedSession = None  # noqa: SLF001 - PySpark has no call for it
    SparkSession._activeSession = None  # noqa: SLF001 - PySpark has no call for it


def _is_alive(context: "SparkContext") -> bool:
    from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]  # py4j has no types

    if getattr(context, "_jsc", None) is None:
        return True  # another thread is starting it
    try:
        context.defaultMinPartitions  # noqa: B018 - it asks the JVM
    except Py4JJavaError:
        return True  # the JVM has answered
    except (Py4JError, OSError):
        return False
    return True


def _differences(running: "SparkSession", master: str, conf: Mapping[str, str]) -> list[str]:
    """The settings that a running session does not have, by name: a value may be a secret.

    A server of Spark Connect reports no master.
    """
    wanted = {**conf} if master.startswith(CONNECT) else {_MASTER: master, **conf}
    return [name for name in wanted if running.conf.get(name, None) != wanted[name]]


def _new(name: str, master: str, conf: Mapping[str, str]) -> "SparkSession":
    from pyspark.sql import SparkSession

    if master.startswith("local"):
        # Spark's workers take the first `python3` on the path, which may lack what this one has.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(name)
    if master.startswith(CONNECT):
        builder = builder.remote(master)
    else:
        builder = builder.master(master)
        conf = {**_QUIET, **conf}
    if master.startswith("local") and conf.get(_UI) == "true":
        if _started_without_address():
            logger.warning(
                "Spark's pages stay off: this process has started Spark's JVM before, without %s, so the pages would "
                "be on all addresses, without a login. Ask for them in the first job of a process, or set %s for it",
                _LOCAL_IP,
                _LOCAL_IP,
            )
            conf = {**conf, _UI: "false"}
        else:
            # The address of Spark's pages; not on a cluster, where others must reach the driver.
            os.environ.setdefault(_LOCAL_IP, _LOCALHOST)
    for key, value in conf.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _started_without_address() -> bool:
    """True if Spark's JVM was started without an address to use: it reads its environment only once."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway  # noqa: SLF001 - PySpark has no public name for it
    return gateway is not None and gateway.jvm.System.getenv(_LOCAL_IP) is None


@dataclass(frozen=True, slots=True)
class SparkPages:
    """Addresses of a session's pages; empty, if there are none.

    `live`: the session's own pages, which end with it. `kept`: the pages of a history server about it.
    """

    live: str = ""
    kept: str = ""


def pages_of(spark: "SparkSession") -> SparkPages:
    """The pages of a session that runs; none is turned on here. Pages of Spark Connect are the server's, and not known.

    A history server has pages if the session logs its events (`spark.eventLog.enabled`). Its address is in
    `spark.yarn.historyServer.address`: Spark has no other setting of the address, on YARN or without.
    """
    if is_connect(spark):
        return SparkPages()
    context = spark.sparkContext
    conf = context.getConf()
    history = conf.get("spark.yarn.historyServer.address") or ""
    logged = conf.get("spark.eventLog.enabled") == "true"
    kept = ""
    if logged and history and "${" not in history:  # a variable of Hadoop's configuration, which YARN fills in
        server = history if "://" in history else f"http://{history}"
        kept = f"{server.rstrip('/')}/history/{context.applicationId}"
    return SparkPages(context.uiWebUrl or "", kept)

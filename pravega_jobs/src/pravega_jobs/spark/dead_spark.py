"""A Spark whose JVM has died: PySpark keeps it as the one of this process, and every later job would fail with it."""

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark import SparkContext

logger = logging.getLogger(__name__)


def forget_dead_spark() -> None:
    """Make room for a new session if the JVM of this process's Spark has died."""
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

"""Settings for a Spark that lives for seconds or minutes in a small process: what the demo and the tests run with."""

import os
from importlib.metadata import version
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent
ARCHIVE: Final = "classes.jsa"


def use() -> None:
    """Let every Spark that starts in this process, or in one that it starts, have the settings of this folder.

    If `make setup` has stored the classes of this Spark, its Java processes start with them.
    """
    stored = stored_folder()
    os.environ["SPARK_CONF_DIR"] = str(stored if (stored / ARCHIVE).exists() else FOLDER)


def stored_folder() -> Path:
    """The folder in which `example_dags.small_spark.store` puts settings and classes of this version of PySpark."""
    return FOLDER.parents[1] / "build" / "small-spark" / version("pyspark")

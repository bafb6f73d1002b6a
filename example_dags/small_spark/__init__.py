"""Settings for a Spark that lives for seconds or minutes in a small process: what the demo and the tests run with."""

import os
from pathlib import Path


def use() -> None:
    """Let every Spark that starts in this process, or in one that it starts, have the settings of this folder."""
    os.environ["SPARK_CONF_DIR"] = str(Path(__file__).parent)

import os
from pathlib import Path

import pytest
from example_dags import small_spark
from example_dags.small_spark import store


@pytest.mark.parametrize("stored", [True, False])
def test_stored_classes_are_used_if_there_are_any(stored: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SPARK_CONF_DIR", "")
    monkeypatch.setattr(small_spark, "stored_folder", lambda: tmp_path)
    if stored:
        (tmp_path / small_spark.ARCHIVE).touch()

    small_spark.use()

    assert os.environ["SPARK_CONF_DIR"] == str(tmp_path if stored else small_spark.FOLDER)


def test_settings_with_stored_classes_are_ours_and_have_the_jars_first(tmp_path: Path):
    store.write_settings(tmp_path, Path("/spark/jars"), "-XX:SharedArchiveFile=classes.jsa")

    ours, stored = (
        dict(
            line.split(maxsplit=1)
            for line in (folder / "spark-defaults.conf").read_text().splitlines()
            if line[:6] == "spark."
        )
        for folder in (small_spark.FOLDER, tmp_path)
    )
    added = dict.fromkeys(("spark.driver.extraClassPath", "spark.executor.extraClassPath"), "/spark/jars/*")
    java = ("spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions")
    changed = {name: f"{ours[name]} -XX:SharedArchiveFile=classes.jsa" for name in java}
    assert stored == {**ours, **added, **changed}

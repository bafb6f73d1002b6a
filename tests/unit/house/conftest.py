from pathlib import Path

import pytest
from tests.unit.house.checkout import Checkout


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    folder = tmp_path / "around" / "checkout"
    folder.mkdir(parents=True)
    return Checkout(folder)

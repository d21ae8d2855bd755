"""The program promtool for the tests of alerts."""

from pathlib import Path

import pytest

from tests.alerts import promtool


@pytest.fixture(scope="module")
def program() -> Path:
    found = promtool.find_promtool()
    if found is None:
        pytest.skip(promtool.MISSING)
    return found

"""The table of time zones, compared with the time zone data of the package tzdata."""

import pytest

from gpuc.catalog import load
from tests.derive import time_zones


@pytest.mark.slow
def test_the_table_is_the_output_of_its_module() -> None:
    tzdata = pytest.importorskip("tzdata")
    table = time_zones.FILE.read_text(encoding="utf-8")
    if f"database {tzdata.IANA_VERSION}," not in table:
        pytest.skip(f"the installed tzdata has version {tzdata.IANA_VERSION}")
    assert table == time_zones.text()


def test_offsets_of_known_zones() -> None:
    zones = load().time_zones
    assert zones["America/New_York"].offsets == (-300, -240)
    assert zones["Europe/Dublin"].offsets == (0, 60)
    assert zones["Asia/Kolkata"].offsets == (330,)

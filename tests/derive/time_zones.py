"""`python -m tests.derive.time_zones` writes time_zones.json from the installed Python package tzdata.

The table contains the offsets of each time zone from UTC, so that gpuc needs no time zone data at run time, and the
same spec has the same output on every machine.
"""

import json
from datetime import UTC, datetime, timedelta
from importlib import import_module, resources
from zoneinfo import ZoneInfo

from gpuc.catalog.rows import FOLDER

FILE = FOLDER / "time_zones.json"
FIRST_YEAR, LAST_YEAR = 2026, 2027


def text() -> str:
    """Returns the content of time_zones.json: one row per time zone that has a place in zone.tab, and UTC."""
    version = import_module("tzdata").IANA_VERSION
    source = f"IANA time zone database {version}, zone.tab and the offsets of {FIRST_YEAR} and {LAST_YEAR}"
    rows = [{"name": name, "offsets": offsets(name), "source": ["iana"]} for name in _names()]
    lines = ",\n".join(json.dumps(row) for row in rows)
    return f'{{\n"sources": {{\n"iana": {json.dumps(source)}\n}},\n"zones": [\n{lines}\n]\n}}\n'


def _names() -> list[str]:
    table = (resources.files("tzdata.zoneinfo") / "zone.tab").read_text(encoding="utf-8")
    names = {line.split("\t")[2] for line in table.splitlines() if not line.startswith("#")}
    return sorted({*names, "UTC"})


def offsets(name: str) -> list[int]:
    """Returns the different offsets of a time zone from UTC in the years of the table, in minutes, sorted."""
    folder, _, file = f"zoneinfo/{name}".rpartition("/")
    with (resources.files(f"tzdata.{folder.replace('/', '.')}") / file).open("rb") as data:
        zone = ZoneInfo.from_file(data)
    time, end = datetime(FIRST_YEAR, 1, 1, tzinfo=UTC), datetime(LAST_YEAR + 1, 1, 1, tzinfo=UTC)
    found = set()
    while time < end:
        offset = time.astimezone(zone).utcoffset()
        found.add(int((offset or timedelta()).total_seconds() // 60))
        time += timedelta(hours=12)
    return sorted(found)


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")

"""The date, for findings about times in a spec. No output depends on the date."""

import os
from datetime import UTC, date, datetime

VARIABLE = "SOURCE_DATE_EPOCH"
"""The environment variable that sets the date, in seconds since 1970.

Source: reproducible-builds.org, SOURCE_DATE_EPOCH specification 1.1
"""


dates: set[date] = set()
"""The dates that `today` has returned. Code that stores a result first empties the set, to see if a date is used."""


def today() -> date:
    """Returns the date in UTC: of SOURCE_DATE_EPOCH, or of the clock if the variable has no valid value."""
    try:
        found = datetime.fromtimestamp(int(os.environ[VARIABLE]), UTC).date()
    except (KeyError, ValueError, OverflowError, OSError):
        found = datetime.now(UTC).date()
    dates.add(found)
    return found

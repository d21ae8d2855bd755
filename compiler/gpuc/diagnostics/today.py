"""The current date, for findings about dates in a spec. The output of a compile does not depend on the date."""

import os
from datetime import UTC, date, datetime

VARIABLE = "SOURCE_DATE_EPOCH"
"""The environment variable that sets the date, in seconds since 1970.

Source: reproducible-builds.org, SOURCE_DATE_EPOCH specification 1.1
"""


dates: set[date] = set()
"""The dates that `today` has returned. Code that stores a result first empties the set, to see if a date is used."""


def today() -> date:
    """Returns the date in UTC from the variable SOURCE_DATE_EPOCH, or from the clock without a valid variable."""
    try:
        found = datetime.fromtimestamp(int(os.environ[VARIABLE]), UTC).date()
    except (KeyError, ValueError, OverflowError, OSError):
        found = datetime.now(UTC).date()
    dates.add(found)
    return found

"""Working hours that the spec language refuses."""

from typing import Any

import pytest
from pydantic import ValidationError

from gpuc.spec.working_hours import WorkingHours

VALID = {"timeZone": "America/New_York", "hours": "08:00-18:00"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"timeZone": "America/New_Yrok"},
            '"America/New_Yrok" is not a time zone; expected a name such as America/New_York '
            r"\(did you mean America/New_York\?\)",
        ),
        ({"timeZone": "EST"}, '"EST" is not a time zone'),
        ({"hours": "18:00-08:00"}, "hours are 18:00-08:00; expected a start before the end on the same day"),
        ({"hours": "8:00-18:00"}, "two times such as 08:00-18:00"),
        ({"hours": "08:00-24:00"}, "two times such as 08:00-18:00"),
        ({"days": ["monday"]}, "Input should be 'mon'"),
    ],
)
def test_c11_working_hours_that_karpenter_cannot_follow_are_refused(change: dict[str, Any], message: str) -> None:
    WorkingHours.model_validate(VALID)
    with pytest.raises(ValidationError, match=message):
        WorkingHours.model_validate(VALID | change)

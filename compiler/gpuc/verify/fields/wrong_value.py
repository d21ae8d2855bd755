from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpuc.objects.flaw import Flaw
from gpuc.verify import check
from gpuc.verify.mismatch import Fit

if TYPE_CHECKING:
    from gpuc.verify.subject import Subject


@check("SCH002")
def wrong_value(subject: Subject) -> Iterator[Flaw]:
    """A value has another type, range, pattern or word than its field allows.

    The API server refuses the object and its Application does not sync.
    """
    for manifest, item in subject.mismatches(Fit.VALUE):
        yield Flaw(wrong_value.fault, manifest, item.path, item.message, item.fix)

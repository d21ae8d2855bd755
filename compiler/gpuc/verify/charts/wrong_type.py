from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpuc.objects.flaw import Flaw
from gpuc.verify import check
from gpuc.verify.mismatch import Fit

if TYPE_CHECKING:
    from gpuc.verify.subject import Subject


@check("VAL002")
def wrong_type(subject: Subject) -> Iterator[Flaw]:
    """A Helm value has another type, range or word than the pinned chart takes.

    The chart renders something else than meant, or fails to render.
    """
    for values, item in subject.value_mismatches(Fit.VALUE, Fit.MISSING, Fit.QUANTITY):
        yield Flaw(wrong_type.fault, values.manifest, item.path, item.message, item.fix)

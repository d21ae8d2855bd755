from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpuc.objects.flaw import Flaw
from gpuc.verify import check
from gpuc.verify.mismatch import Fit

if TYPE_CHECKING:
    from gpuc.verify.subject import Subject


@check("SCH003")
def missing_field(subject: Subject) -> Iterator[Flaw]:
    """An object lacks a field that its kind requires.

    The API server refuses the object and its Application does not sync.
    """
    for manifest, item in subject.mismatches(Fit.MISSING):
        yield Flaw(missing_field.fault, manifest, item.path, item.message, item.fix)

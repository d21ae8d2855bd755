from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpuc.objects.flaw import Flaw
from gpuc.verify import check
from gpuc.verify.mismatch import Fit

if TYPE_CHECKING:
    from gpuc.verify.subject import Subject


@check("SCH001")
def unknown_field(subject: Subject) -> Iterator[Flaw]:
    """An object has a field that its kind does not have.

    The API server drops the field, or refuses the object, and the setting has no effect.
    """
    for manifest, item in subject.mismatches(Fit.UNKNOWN):
        yield Flaw(unknown_field.fault, manifest, item.path, item.message, item.fix, on_key=True)

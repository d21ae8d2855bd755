from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpuc.objects.flaw import Flaw
from gpuc.verify import check
from gpuc.verify.mismatch import Fit

if TYPE_CHECKING:
    from gpuc.verify.subject import Subject


@check("SCH005", source="k8s.io/apimachinery v0.35, pkg/api/resource/quantity.go")
def quantity_not_canonical(subject: Subject) -> Iterator[Flaw]:
    """A quantity is not in the form in which Kubernetes stores it.

    Argo CD compares text with what is stored and shows a difference that no sync ends.
    """
    for manifest, item in subject.mismatches(Fit.QUANTITY):
        yield Flaw(quantity_not_canonical.fault, manifest, item.path, item.message, item.fix)

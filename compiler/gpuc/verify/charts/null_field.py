from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpuc.objects.flaw import Flaw
from gpuc.verify import check
from gpuc.verify.mismatch import Fit
from gpuc.verify.null_fields import null_fields

if TYPE_CHECKING:
    from gpuc.verify.subject import Subject


@check(
    "VAL004",
    source="argoproj/argo-cd v3.5.1 docs/user-guide/sync-options.md (Server-Side Apply); "
    "compiler/gpuc/catalog/nulls.json",
)
def null_field(subject: Subject) -> Iterator[Flaw]:
    """A chart renders an empty Helm value as a null in an object of a custom kind.

    A server-side apply refuses the object, and the sync of its Application fails.
    """
    for values in subject.values:
        wrong = {item.path for other, item in subject.value_mismatches(*Fit) if other is values}
        for path, message in null_fields(values.component, values.body):
            if path not in wrong:
                yield Flaw(null_field.fault, values.manifest, path, message)
